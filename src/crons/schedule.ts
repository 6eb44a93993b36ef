// When a cron fires: five fields, as crontab(5) has them, or a nickname such as @daily, in a time zone. A fixed time
// that a change of clocks skips comes at the first moment after it, and one that comes twice is taken once; what recurs
// (a * or a step in its hours or minutes) follows the clock.
import { Cron } from "croner";

export interface Schedule {
  readonly schedule: string;
  /** IANA name; null is UTC. */
  readonly timezone: string | null;
  readonly end_time: Date | null;
}

const SHAPE = /^(@(hourly|daily|weekly|monthly|yearly|annually|midnight)|\S+( +\S+){4})$/i;
const MAX_LENGTH = 256;

/** Whether there is any time that it names. */
export function isSchedule(text: string): boolean {
  if (text.length > MAX_LENGTH || !SHAPE.test(text.trim())) return false;
  try {
    return parse(text, null).nextRun() !== null;
  } catch {
    return false;
  }
}

/** Names only: an offset such as +02:00 knows no summer. */
export function isTimezone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

/** The first time after `after`; null when it would be later than the end. */
export function nextRun({ schedule, timezone, end_time }: Schedule, after: Date): Date | null {
  const next = parse(schedule, timezone).nextRun(after);
  return next === null || (end_time !== null && next > end_time) ? null : next;
}

const parse = (schedule: string, timezone: string | null) =>
  new Cron(schedule.trim(), {
    mode: "5-part",
    timezone: timezone ?? "UTC",
    // As cron(8) has it: what names its hours is at fixed times, also when it names several.
    fixedTimeRule: "no-wildcard",
    paused: true,
  });
