// The rig's own eyes in the database: triggers that note every change of a run, every write of a process that does not
// hold the thread's run at that moment, and who fires a cron or takes a webhook. Their schema is `rig`; the server knows nothing of it.
import type { Database } from "../../../src/db/database.ts";

/** A process is known by the application name that hook.ts gives its connections, an owner by the pid in its name. */
const AUDIT = `
create schema rig;
create function rig.writer() returns text language sql stable as
  $$ select split_part(current_setting('application_name'), ':', 3) $$;
create function rig.pid(owner text) returns text language sql immutable as
  $$ select split_part(owner, ':', 2) $$;

create table rig.run_change (
  n bigint generated always as identity, at timestamptz not null default clock_timestamp(),
  xid xid8 not null default pg_current_xact_id(), writer text not null default rig.writer(),
  run_id uuid not null, thread_id uuid not null, key text, kind text not null,
  old_status text, new_status text, old_token bigint, new_token bigint, old_owner text, new_owner text,
  old_until timestamptz, new_until timestamptz, attempt integer
);
create index on rig.run_change (run_id, n);

create table rig.stale_write (
  n bigint generated always as identity, at timestamptz not null default clock_timestamp(),
  what text not null, writer text not null default rig.writer(), thread_id text not null, detail text not null
);

create function rig.note_run() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into rig.run_change (run_id, thread_id, key, kind, new_status, attempt)
    values (new.run_id, new.thread_id, new.metadata ->> 'rig_key', 'insert', new.status, new.attempt);
  elsif tg_op = 'DELETE' then
    insert into rig.run_change (run_id, thread_id, key, kind, old_status, old_token, old_owner, old_until, attempt)
    values (old.run_id, old.thread_id, old.metadata ->> 'rig_key', 'delete', old.status, old.fencing_token,
      rig.pid(old.lease_owner), old.lease_until, old.attempt);
  else
    insert into rig.run_change (run_id, thread_id, key, kind, old_status, new_status, old_token, new_token,
      old_owner, new_owner, old_until, new_until, attempt)
    values (new.run_id, new.thread_id, new.metadata ->> 'rig_key', 'update', old.status, new.status,
      old.fencing_token, new.fencing_token, rig.pid(old.lease_owner), rig.pid(new.lease_owner),
      old.lease_until, new.lease_until, new.attempt);
  end if;
  return null;
end $$;
create trigger rig_note_run after insert or update or delete on heddle.runs
  for each row execute function rig.note_run();

create function rig.check_checkpoint() returns trigger language plpgsql as $$
declare
  run heddle.runs;
begin
  if new.metadata ->> 'run_id' is null then return null; end if;
  select * into run from heddle.runs r where r.run_id = (new.metadata ->> 'run_id')::uuid;
  -- A named checkpoint that is restored on a new thread brings the marks of its run along.
  if run.thread_id::text <> new.thread_id then return null; end if;
  if not found or run.status <> 'running' or rig.pid(run.lease_owner) <> rig.writer()
    or run.attempt <> (new.metadata ->> 'run_attempt')::integer then
    insert into rig.stale_write (what, thread_id, detail)
    values ('checkpoint', new.thread_id, format('run %s attempt %s while it is %s, attempt %s, of %s',
      new.metadata ->> 'run_id', new.metadata ->> 'run_attempt', run.status, run.attempt, run.lease_owner));
  end if;
  return null;
end $$;
create trigger rig_check_checkpoint after insert or update on heddle.checkpoints
  for each row execute function rig.check_checkpoint();

create function rig.check_write() returns trigger language plpgsql as $$
declare
  owner text;
begin
  select r.lease_owner into owner from heddle.runs r
  where r.thread_id::text = new.thread_id and r.status = 'running';
  -- A thread that has had no run has its writes from a named checkpoint.
  if not exists (select from heddle.runs r where r.thread_id::text = new.thread_id) then return null; end if;
  if owner is null or rig.pid(owner) <> rig.writer() then
    insert into rig.stale_write (what, thread_id, detail)
    values ('pending write', new.thread_id, format('checkpoint %s, channel %s, of a thread that %s runs',
      new.checkpoint_id, new.channel, coalesce(owner, 'nobody')));
  end if;
  return null;
end $$;
create trigger rig_check_write after insert or update on heddle.checkpoint_writes
  for each row execute function rig.check_write();

create function rig.check_event() returns trigger language plpgsql as $$
declare
  run heddle.runs;
begin
  select * into run from heddle.runs r where r.run_id = new.run_id;
  if (run.status = 'running' and rig.pid(run.lease_owner) = rig.writer()) then return null; end if;
  -- The last events of a run come with its end.
  if exists (select from rig.run_change c where c.run_id = new.run_id and c.xid = pg_current_xact_id()
    and c.old_status = 'running' and c.old_owner = rig.writer()) then return null; end if;
  insert into rig.stale_write (what, thread_id, detail)
  values ('event', run.thread_id, format('event %s of run %s while it is %s, of %s',
    new.seq, new.run_id, run.status, run.lease_owner));
  return null;
end $$;
create trigger rig_check_event after insert on heddle.run_events
  for each row execute function rig.check_event();

-- A writer that is no server has made the cron due.
create table rig.cron_move (
  n bigint generated always as identity, at timestamptz not null default clock_timestamp(),
  xid xid8 not null default pg_current_xact_id(), writer text not null default rig.writer(),
  cron_id uuid not null, due timestamptz, next timestamptz
);
create function rig.note_cron() returns trigger language plpgsql as $$
begin
  insert into rig.cron_move (cron_id, due, next) values (new.cron_id, old.next_run_date, new.next_run_date);
  return null;
end $$;
create trigger rig_note_cron after update on heddle.crons for each row
  when (old.next_run_date is distinct from new.next_run_date) execute function rig.note_cron();

create table rig.webhook_claim (
  n bigint generated always as identity, at timestamptz not null default clock_timestamp(),
  writer text not null default rig.writer(), run_id uuid not null
);
create function rig.note_webhook() returns trigger language plpgsql as $$
begin
  insert into rig.webhook_claim (run_id) values (new.run_id);
  return null;
end $$;
create trigger rig_note_webhook after update on heddle.webhooks for each row
  when (new.attempts > old.attempts) execute function rig.note_webhook();
`;

export const installAudit = (db: Database) => db.query(AUDIT);
