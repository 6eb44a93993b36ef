// Vectors as they are stored and compared: of length 1, so that the cosine of two is their product. Pure.

/** A vector of zeros stays one. */
export function toUnit(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (number) => (length === 0 ? 0 : number / length));
}

/** As PostgreSQL reads a `real[]`. */
export const toArrayLiteral = (vector: Float32Array): string => `{${vector.join(",")}}`;

/** What array_send puts before the elements of an array with one dimension, and before each of them. */
const HEADER_BYTES = 20;
const LENGTH_BYTES = 4;

/**
 * The cosine, from -1 to 1; 0 when one of them is all zeros.
 * @param sent what array_send gives for a `real[]`
 */
export function similarity(query: Float32Array, sent: Buffer): number {
  let sum = 0;
  if (sent.byteLength !== HEADER_BYTES + query.length * (LENGTH_BYTES + 4)) return sum;
  const view = new DataView(sent.buffer, sent.byteOffset, sent.byteLength);
  let at = HEADER_BYTES + LENGTH_BYTES;
  for (let index = 0; index < query.length; index++, at += LENGTH_BYTES + 4) {
    sum += (query[index] ?? 0) * view.getFloat32(at);
  }
  return sum;
}
