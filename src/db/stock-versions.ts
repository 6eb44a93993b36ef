// Channel versions in the two forms: the official PostgresSaver counts 1, 2, 3; ours are strings that never repeat
// (checkpointer.ts). LangGraph compares versions only within a checkpoint, but a number beside a string compares as
// neither smaller nor greater: so a thread that goes from one to the other has all its versions changed. Pure.

type Versions = Readonly<Record<string, number | string>>;

/** A checkpoint as it is stored, without the values of its channels. */
export interface StoredCheckpoint {
  readonly channel_versions?: Versions;
  /** Node to the versions it has seen. */
  readonly versions_seen?: Readonly<Record<string, Versions>>;
  readonly [field: string]: unknown;
}

/** Changes the versions of a thread's checkpoints, those of one namespace, from the oldest to the newest. */
export interface VersionChange {
  /** The other side has this checkpoint already, in its form: later ones must agree with it. */
  learn(checkpoint: StoredCheckpoint, other: StoredCheckpoint): void;
  change(checkpoint: StoredCheckpoint): StoredCheckpoint;
}

/** From counted versions to ours. The same number always becomes the same string. */
export function toOwnVersions(): VersionChange {
  const toOwn = (_channel: string, version: number | string) =>
    typeof version === "number" ? `v${String(version).padStart(12, "0")}.stock` : version;
  return { learn: () => undefined, change: (checkpoint) => rename(checkpoint, toOwn) };
}

/**
 * From ours to counted versions. Each value gets a number of its own, also in forks. A checkpoint's greatest number is
 * greater than all before it: the official saver goes on counting from there, and would otherwise give a number that
 * another branch has, whose value it would then show.
 */
export function toStockVersions(): VersionChange {
  const numbers = new Map<string, number>();
  let highest = 0;
  const key = (channel: string, version: number | string) => JSON.stringify([channel, version]);
  const look = (channel: string, version: number | string) => numbers.get(key(channel, version)) ?? 0;

  return {
    learn(checkpoint, other) {
      for (const { channel, version, node } of pairs(checkpoint)) {
        const versions = node === undefined ? other.channel_versions : other.versions_seen?.[node];
        const number = Number(versions?.[channel] ?? 0);
        numbers.set(key(channel, version), number);
        highest = Math.max(highest, number);
      }
    },
    change(checkpoint) {
      const fresh = pairs(checkpoint)
        .filter(({ channel, version }) => !numbers.has(key(channel, version)))
        .sort((a, b) => (String(a.version) < String(b.version) ? -1 : 1));
      let last: number | string | undefined;
      for (const { channel, version } of fresh) {
        if (version !== last) highest++;
        last = version;
        numbers.set(key(channel, version), highest);
      }
      const greatest = Math.max(
        0,
        ...Object.entries(checkpoint.channel_versions ?? {}).map(([channel, version]) =>
          look(channel, version),
        ),
      );
      if (greatest === highest) return rename(checkpoint, look);
      // A copy of an older checkpoint: nothing in it is new.
      highest++;
      return rename(checkpoint, (channel, version) => {
        const number = look(channel, version);
        return number === greatest ? highest : number;
      });
    },
  };
}

interface Pair {
  readonly channel: string;
  readonly version: number | string;
  /** Undefined: the channel's version now; else what this node has seen. */
  readonly node?: string;
}

function pairs({ channel_versions = {}, versions_seen = {} }: StoredCheckpoint): Pair[] {
  const now = Object.entries(channel_versions).map(([channel, version]) => ({ channel, version }));
  const seen = Object.entries(versions_seen).flatMap(([node, versions]) =>
    Object.entries(versions).map(([channel, version]) => ({ channel, version, node })),
  );
  return [...seen, ...now];
}

function rename(
  { channel_versions = {}, versions_seen = {}, ...others }: StoredCheckpoint,
  name: (channel: string, version: number | string) => number | string,
): StoredCheckpoint {
  const renamed = (versions: Versions) =>
    Object.fromEntries(
      Object.entries(versions).map(([channel, version]) => [channel, name(channel, version)]),
    );
  return {
    ...others,
    channel_versions: renamed(channel_versions),
    versions_seen: Object.fromEntries(
      Object.entries(versions_seen).map(([node, versions]) => [node, renamed(versions)]),
    ),
  };
}
