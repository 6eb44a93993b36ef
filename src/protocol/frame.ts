// A frame of the thread protocol: one event as it goes over the wire, with what filters ask about it. Its data is JSON
// text, which for a state comes from the log as it is.

export interface Frame {
  /** Place in the thread's sequence; only grows, also from run to run. */
  readonly seq: number;
  readonly eventId: string;
  readonly method: string;
  /** What a client subscribes to; a named custom event is of the channel `custom:<name>`. */
  readonly channel: string;
  readonly namespace: readonly string[];
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  /** Name of the graph's node that it is about. */
  readonly node?: string | undefined;
  /** JSON text. */
  readonly data: string;
}

/** One line of JSON, the same to every reader. */
export function toFrameJson({ seq, eventId, method, namespace, timestamp, node, data }: Frame): string {
  const params = JSON.stringify({ namespace, timestamp, ...(node === undefined ? {} : { node }) });
  const head = JSON.stringify({ type: "event", event_id: eventId, seq, method });
  return `${head.slice(0, -1)},"params":${params.slice(0, -1)},"data":${data}}}`;
}
