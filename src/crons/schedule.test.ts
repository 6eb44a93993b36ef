import { describe, expect, it } from "vitest";
import { isSchedule, isTimezone, nextRun } from "./schedule.ts";

/** The next times after one, as ISO texts. */
function times(schedule: string, timezone: string | null, after: string, count = 3): (string | null)[] {
  const found: (string | null)[] = [];
  for (let at: Date | null = new Date(after); at && found.length < count; ) {
    at = nextRun({ schedule, timezone, end_time: null }, at);
    found.push(at?.toISOString() ?? null);
  }
  return found;
}

describe("a schedule", () => {
  it.each(["* * * * *", "*/5 0-6 1,15 * MON-FRI", "0 0 29 2 *", "@daily", " 0  9 * * * ", "0 0 L * *"])(
    "is %j",
    (text) => expect(isSchedule(text)).toBe(true),
  );

  it.each([
    "",
    "* * * *",
    // Seconds come first in some dialects and last in others: taken for neither.
    "0 * * * * *",
    "60 * * * *",
    "5/15 * * * *",
    "every day",
    "@reboot",
    "@often",
    // A date is a pattern for the library.
    "2030-01-01T00:00:00",
    // Never comes.
    "0 0 30 2 *",
    `${"0,".repeat(200)}0 * * * *`,
  ])("is not %j", (text) => expect(isSchedule(text)).toBe(false));

  it("is in UTC without a time zone, wherever the server is", () => {
    expect(times("30 9 * * *", null, "2026-06-01T10:00:00Z", 1)).toEqual(["2026-06-02T09:30:00.000Z"]);
  });

  it("follows the clocks of its time zone over the year", () => {
    expect(times("0 9 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z")).toEqual([
      "2026-03-28T08:00:00.000Z",
      "2026-03-29T07:00:00.000Z",
      "2026-03-30T07:00:00.000Z",
    ]);
    expect(times("0 9 * * *", "Europe/Berlin", "2026-10-24T00:00:00Z")).toEqual([
      "2026-10-24T07:00:00.000Z",
      "2026-10-25T08:00:00.000Z",
      "2026-10-26T08:00:00.000Z",
    ]);
  });

  it("comes right after the gap when its time is skipped", () => {
    expect(times("30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z")).toEqual([
      "2026-03-08T07:00:00.000Z",
      "2026-03-09T06:30:00.000Z",
      "2026-03-10T06:30:00.000Z",
    ]);
  });

  it("is at fixed times also when it names several", () => {
    expect(times("30 2,14 * * *", "America/New_York", "2026-03-07T12:00:00Z")).toEqual([
      "2026-03-07T19:30:00.000Z",
      "2026-03-08T07:00:00.000Z",
      "2026-03-08T18:30:00.000Z",
    ]);
    expect(times("30 0-2 * * *", "America/New_York", "2026-11-01T04:00:00Z")).toEqual([
      "2026-11-01T04:30:00.000Z",
      "2026-11-01T05:30:00.000Z",
      "2026-11-01T07:30:00.000Z",
    ]);
  });

  it("comes once when its time comes twice", () => {
    expect(times("30 1 * * *", "America/New_York", "2026-10-31T12:00:00Z")).toEqual([
      "2026-11-01T05:30:00.000Z",
      "2026-11-02T06:30:00.000Z",
      "2026-11-03T06:30:00.000Z",
    ]);
  });

  it("comes every hour, also in the hour that there is twice", () => {
    expect(times("0 * * * *", "America/New_York", "2026-11-01T04:30:00Z")).toEqual([
      "2026-11-01T05:00:00.000Z",
      "2026-11-01T06:00:00.000Z",
      "2026-11-01T07:00:00.000Z",
    ]);
  });

  it("ends with its end time, which belongs to it", () => {
    const schedule = { schedule: "0 * * * *", timezone: null, end_time: new Date("2026-01-01T02:00:00Z") };
    expect(nextRun(schedule, new Date("2026-01-01T01:00:00Z"))?.toISOString()).toBe(
      "2026-01-01T02:00:00.000Z",
    );
    expect(nextRun(schedule, new Date("2026-01-01T02:00:00Z"))).toBeNull();
  });
});

describe("a time zone", () => {
  it.each(["UTC", "America/New_York", "Asia/Kathmandu"])("is %s", (name) =>
    expect(isTimezone(name)).toBe(true),
  );
  it.each(["", "+02:00", "Mars/Olympus", "America/New York"])("is not %j", (name) =>
    expect(isTimezone(name)).toBe(false),
  );
});
