// What others import as `heddle/stream-adapter`: the adapter, and the contract of its envelopes.
export { toPlain, toRecord } from "./coerce.ts";
export {
  type Envelope,
  type EnvelopeType,
  envelopeSchema,
  PROFILES,
  type Profile,
  type TypedEnvelope,
} from "./schema.ts";
export { createStreamAdapter, type StreamAdapter, type StreamAdapterOptions } from "./stream-adapter.ts";
