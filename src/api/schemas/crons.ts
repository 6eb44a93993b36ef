// Bodies of the cron routes. What is not the cron's own is the body of its runs' requests, checked as such.
import { z } from "zod";
import { isSchedule, isTimezone } from "../../crons/schedule.ts";
import { bodyOrNone, jsonObject, optional, page, sortOrder, uuid } from "./common.ts";
import { runBody } from "./runs.ts";

export const cronParams = z.object({ cron_id: uuid });

const schedule = z
  .string()
  .refine(
    isSchedule,
    "must be five cron fields (minute, hour, day, month, weekday) or a nickname such as @daily, and name a time that comes",
  );
const timezone = z.string().refine(isTimezone, "must be an IANA time zone such as Europe/Berlin");

/** ISO 8601; without an offset it is UTC. */
const time = z.iso
  .datetime({ offset: true, local: true })
  .transform((text) => new Date(/(Z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`));

const own = {
  timezone: z.union([timezone, z.null()]).optional(),
  end_time: z.union([time, z.null()]).optional(),
  enabled: optional(z.boolean()),
  on_run_completed: optional(z.enum(["delete", "keep"])),
};

// A cron has no single moment, and its threads are its own.
const { after_seconds: _, if_not_exists: __, on_completion: ___, ...runFields } = runBody.shape;

export const createCronBody = z.looseObject({ ...runFields, ...own, schedule });
export const patchCronBody = bodyOrNone({
  ...runFields,
  ...own,
  assistant_id: z.unknown().optional(),
  schedule: optional(schedule),
});

const filter = {
  assistant_id: optional(z.string()),
  thread_id: optional(uuid),
  enabled: optional(z.boolean()),
  metadata: optional(jsonObject),
};

export const countCronsBody = bodyOrNone(filter);

export const searchCronsBody = bodyOrNone({
  ...filter,
  ...page,
  sort_by: optional(
    z.enum(["cron_id", "assistant_id", "thread_id", "created_at", "updated_at", "next_run_date"]),
  ),
  sort_order: optional(sortOrder),
  select: optional(z.array(z.string())),
});

type CronBody = z.output<typeof createCronBody> | z.output<typeof patchCronBody>;

const NO_PAYLOAD = new Set([
  "schedule",
  "timezone",
  "end_time",
  "enabled",
  "on_run_completed",
  "thread_id",
  "assistant_id",
  "after_seconds",
  "if_not_exists",
  "on_completion",
]);

/** The fields of the runs' requests that are there. */
export const toPayload = (body: CronBody): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(body).filter(([field, value]) => value !== undefined && !NO_PAYLOAD.has(field)),
  );
