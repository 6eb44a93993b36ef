// Randomness that a seed repeats: every choice of the rig comes from here.
export interface Random {
  /** From 0 up to, and without, 1. */
  next(): number;
  /** A whole number from `from` to `to`, both included. */
  whole(from: number, to: number): number;
  pick<T>(items: readonly T[]): T;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** A generator of its own, so that concurrent parts do not take numbers from each other. */
  fork(name: string): Random;
}

/** mulberry32 over a hash of the seed's text. */
export function createRandom(seed: string): Random {
  let state = 2_166_136_261;
  for (const character of seed) state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619);
  const next = () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    whole: (from, to) => from + Math.floor(next() * (to - from + 1)),
    pick<T>(items: readonly T[]): T {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
    chance: (probability) => next() < probability,
    fork: (name) => createRandom(`${seed}/${name}`),
  };
}
