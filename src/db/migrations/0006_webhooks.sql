-- The outbox of webhooks: what is to be told of a run that has ended. The row is made by the statement that ends the run,
-- so neither is there without the other, and it holds the run as it was: the run may be deleted before it is told of.
-- due_at: when somebody may (again) try to deliver; whoever tries moves it on, as a lease. Null: given up. A delivered row
-- is deleted.
create table heddle.webhooks (
  run_id uuid primary key,
  thread_id uuid not null,
  target text not null,
  -- Empty for a path on this server.
  host text not null generated always as (coalesce(lower(substring(target from '^[A-Za-z]+://([^/?#]*)')), '')) stored,
  run json not null,
  run_started_at timestamptz,
  run_ended_at timestamptz not null,
  attempts integer not null default 0,
  due_at timestamptz default clock_timestamp(),
  last_error text
);
create index webhooks_due on heddle.webhooks (due_at) where due_at is not null;
create index webhooks_given_up on heddle.webhooks (run_ended_at) where due_at is null;

-- Found once, when the run is added, and not at its end: kwargs may be large. They are searched before they are parsed, as
-- few have one.
alter table heddle.runs add column webhook text
  generated always as (case when kwargs::text like '%"webhook":%' then kwargs ->> 'webhook' end) stored;

-- A running run was last updated when it was claimed: that is when this attempt has started.
create function heddle.add_webhook() returns trigger language plpgsql as $$
begin
  insert into heddle.webhooks (run_id, thread_id, target, run, run_started_at, run_ended_at)
  values (
    new.run_id, new.thread_id, new.webhook,
    json_build_object(
      'run_id', new.run_id, 'thread_id', new.thread_id, 'assistant_id', new.assistant_id, 'metadata', new.metadata,
      'status', new.status, 'kwargs', new.kwargs, 'multitask_strategy', new.multitask_strategy,
      'created_at', new.created_at, 'updated_at', new.updated_at, 'error', new.error
    ),
    case when old.status = 'running' then old.updated_at end, new.finished_at
  );
  return null;
end
$$;
create trigger add_webhook after update of status on heddle.runs for each row
  when (new.webhook is not null and old.finished_at is null and new.finished_at is not null)
  execute function heddle.add_webhook();
