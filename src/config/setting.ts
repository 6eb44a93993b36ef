// What a setting is, and the forms of value that several settings have.
import { z } from "zod";

export const optionalText = z.preprocess(
  (value) => (value === "" ? undefined : value),
  z.string().trim().min(1).optional(),
);
export const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
/** A time such as 24h, as seconds; at most 10 years. */
export const duration = (byDefault: string) =>
  z
    .string()
    .default(byDefault)
    .transform((text) => {
      const [, count, unit = ""] = /^([1-9]\d{0,8})([smhd])$/.exec(text.trim()) ?? [];
      return Number(count) * SECONDS[unit as keyof typeof SECONDS];
    })
    .pipe(z.number().max(3650 * SECONDS.d));

export interface Setting<T extends z.ZodType = z.ZodType> {
  readonly schema: T;
  /** What the value may be, for the error message. */
  readonly allowed: string;
  /** The line in .env.example. */
  readonly comment: string;
  /** What .env.example shows; empty for a setting without a default. */
  readonly example: string;
}

export const setting = <T extends z.ZodType>(
  schema: T,
  allowed: string,
  example: string,
  comment: string,
): Setting<T> => ({
  schema,
  allowed,
  comment,
  example,
});
