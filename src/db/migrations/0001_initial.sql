-- Checkpoints: the tables of the official PostgresSaver (@langchain/langgraph-checkpoint-postgres 1.0.5), in our schema,
-- plus `seq`: the order in which PostgreSQL took the checkpoints. "Latest" is by seq, never by a worker's clock.
create table heddle.checkpoint_migrations (
  v integer primary key
);
insert into heddle.checkpoint_migrations (v) values (0), (1), (2), (3), (4);

create table heddle.checkpoints (
  thread_id text not null,
  checkpoint_ns text not null default '',
  checkpoint_id text not null,
  parent_checkpoint_id text,
  type text,
  checkpoint jsonb not null,
  metadata jsonb not null default '{}',
  seq bigint generated always as identity,
  primary key (thread_id, checkpoint_ns, checkpoint_id)
);
create index checkpoints_latest on heddle.checkpoints (thread_id, checkpoint_ns, seq desc);

create table heddle.checkpoint_blobs (
  thread_id text not null,
  checkpoint_ns text not null default '',
  channel text not null,
  version text not null,
  type text not null,
  blob bytea,
  primary key (thread_id, checkpoint_ns, channel, version)
);

create table heddle.checkpoint_writes (
  thread_id text not null,
  checkpoint_ns text not null default '',
  checkpoint_id text not null,
  task_id text not null,
  idx integer not null,
  channel text not null,
  type text,
  blob bytea not null,
  primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

create table heddle.assistants (
  assistant_id uuid primary key,
  graph_id text not null,
  name text not null,
  description text,
  config jsonb not null default '{}',
  context jsonb not null default '{}',
  metadata jsonb not null default '{}',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

-- fencing_token only grows. Whoever may write the thread's state holds its newest value; every checkpoint, event and
-- status write of a run carries the token it was claimed with and is refused once the thread has a newer one.
create table heddle.threads (
  thread_id uuid primary key,
  status text not null default 'idle' check (status in ('idle', 'busy', 'interrupted', 'error')),
  metadata jsonb not null default '{}',
  config jsonb not null default '{}',
  interrupts jsonb not null default '{}',
  error text,
  fencing_token bigint not null default 0,
  delete_after timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 70);
create index threads_created on heddle.threads (created_at desc);
create index threads_metadata on heddle.threads using gin (metadata jsonb_path_ops);
create index threads_delete_after on heddle.threads (delete_after) where delete_after is not null;

-- idempotency_key: a request that is sent again with its key gets the run it has made, and makes no second one;
-- request_digest tells that it is the same request.
-- attempt counts how often the run was started, crashes how often its worker fell silent: a run that is given back by a
-- server that stops has not crashed. run_number is the order of acknowledgement. kwargs and error are json, not jsonb: what the client sent comes back
-- to the graph byte for byte. events: 'expired' since readers are told that the run's events are gone, 'deleted' when
-- all of them are.
-- finished_at is what the indexes are about, and not status: so a claim changes nothing that is in an index, and needs
-- no new entries there (a HOT update, for which pages keep some room).
create table heddle.runs (
  run_id uuid primary key,
  thread_id uuid not null references heddle.threads (thread_id) on delete cascade,
  assistant_id uuid not null,
  run_number bigint generated always as identity,
  status text not null default 'pending'
    check (status in ('pending', 'running', 'success', 'error', 'timeout', 'interrupted')),
  kwargs json not null,
  metadata jsonb not null default '{}',
  multitask_strategy text not null,
  cancel_action text check (cancel_action in ('interrupt', 'rollback')),
  error json,
  idempotency_key text unique,
  request_digest text,
  events text not null default 'kept' check (events in ('kept', 'expired', 'deleted')),
  attempt integer not null default 0,
  crashes integer not null default 0,
  fencing_token bigint,
  lease_owner text,
  lease_until timestamptz,
  lease_renewed_at timestamptz,
  available_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  finished_at timestamptz
    generated always as (case when status in ('pending', 'running') then null else updated_at end) stored
) with (fillfactor = 70);
create index runs_unfinished on heddle.runs (run_number) where finished_at is null;
create index runs_unfinished_of_thread on heddle.runs (thread_id, run_number) where finished_at is null;
create index runs_of_thread on heddle.runs (thread_id, run_number desc);
create index runs_with_events on heddle.runs (finished_at) where events <> 'deleted' and finished_at is not null;

-- The event log. seq counts per run, without a gap, and is given by the lease holder. data is the JSON text that is sent,
-- byte for byte the same to every reader; or, with is_pointer, JSON that says where that text comes from
-- (events/state-pointer.ts): a checkpoint that was committed before the event. Who removes checkpoints must leave those
-- of a thread's runs whose events are kept.
create table heddle.run_events (
  run_id uuid not null,
  seq integer not null,
  event text not null,
  data text not null,
  is_pointer boolean not null default false,
  primary key (run_id, seq)
);

-- Events are written only by statements that hold the lock of their run's row: a foreign key would take it once more for
-- each event, a quarter of the work. They go with their run.
create function heddle.delete_events() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  delete from heddle.run_events e using gone where e.run_id = gone.run_id;
  return null;
end
$$;
create trigger delete_events after delete on heddle.runs
  referencing old table as gone for each statement execute function heddle.delete_events();

-- Adds a run to a thread that has no unfinished one and is still as the caller has read it (xmin): the usual case, in one
-- statement. No row otherwise, and nothing done. The thread row is locked first, as `claim_run` and `finish_run` do.
create function heddle.add_run(
  thread uuid, version text, thread_metadata jsonb, thread_config jsonb,
  run uuid, assistant uuid, kwargs json, metadata jsonb, strategy text, after_seconds double precision
)
returns setof heddle.runs
language plpgsql as $$
begin
  perform 1 from heddle.threads t where t.thread_id = thread and t.xmin::text = version for no key update;
  if not found then
    return;
  end if;
  if exists (select 1 from heddle.runs r where r.thread_id = thread and r.finished_at is null) then
    return;
  end if;
  update heddle.threads t
  set status = 'busy', metadata = t.metadata || thread_metadata, config = thread_config, updated_at = clock_timestamp()
  where t.thread_id = thread;
  return query
    insert into heddle.runs
      (run_id, thread_id, assistant_id, kwargs, metadata, multitask_strategy, available_at)
    values (run, thread, assistant, kwargs, metadata, strategy,
      clock_timestamp() + make_interval(secs => after_seconds))
    returning *;
end
$$;

-- Ends a run: its last events, its terminal status and the thread's status become visible together. Says what became of
-- it: 'done', also when it is asked again because the answer was lost; 'lost' when another worker has the run;
-- 'rollback' when it is to be rolled back, which is left to the caller. The thread row is locked first: a run that is
-- being added is then either seen here, or waits; and a checkpoint that is being written, which has its lock `for key
-- share`, is waited for.
create function heddle.finish_run(
  run uuid, token bigint, new_status text, new_error json,
  thread_status text, thread_error text, new_interrupts jsonb, keep_seconds integer,
  seqs integer[], events text[], datas text[], pointers boolean[]
)
returns text
language plpgsql as $$
declare
  thread uuid;
  old_status text;
  action text;
begin
  select r.thread_id into thread from heddle.runs r where r.run_id = run;
  perform 1 from heddle.threads t where t.thread_id = thread for update;

  select r.status, r.cancel_action into old_status, action
  from heddle.runs r
  where r.run_id = run and r.fencing_token = token and r.status in ('running', new_status)
  for no key update;
  if not found then
    return 'lost';
  end if;
  if old_status = new_status then
    return 'done';
  end if;
  if action = 'rollback' then
    return 'rollback';
  end if;

  update heddle.runs r
  set status = new_status, error = new_error, lease_owner = null, lease_until = null, updated_at = clock_timestamp()
  where r.run_id = run;

  insert into heddle.run_events (run_id, seq, event, data, is_pointer)
  select run, e.seq, e.event, e.data, e.is_pointer
  from unnest(seqs, events, datas, pointers) as e (seq, event, data, is_pointer);

  -- Also the token: nothing of this run that is still on its way may come after its end.
  update heddle.threads t
  set fencing_token = greatest(t.fencing_token, token + 1),
      status = case
        when exists (select 1 from heddle.runs r where r.thread_id = thread and r.finished_at is null)
        then 'busy' else thread_status end,
      error = thread_error,
      interrupts = new_interrupts,
      delete_after = case when keep_seconds is null then t.delete_after
        else clock_timestamp() + make_interval(secs => keep_seconds) end,
      updated_at = clock_timestamp()
  where t.thread_id = thread;
  return 'done';
end
$$;

-- Gives the caller the oldest run that may start now, or whose worker's lease has run out; no row when there is none.
-- The thread row is locked first, and each statement of this function sees what was committed before it: so two
-- workers never run one thread at the same time, and a thread's runs start in the order they were acknowledged.
-- A run that has ended too many workers is ended here and comes back with the status 'error'; it is not to be run. One
-- that was cancelled while no worker had it comes back with its cancel_action, for the worker to end it so.
-- A lease that ran out has ended a worker only if it was renewed since PostgreSQL started: a worker cannot renew while
-- the database is away. below_crashes: runs that have ended this many workers are left for other callers.
create function heddle.claim_run(owner text, lease interval, max_crashes integer, below_crashes integer)
returns setof heddle.runs
language plpgsql
-- The queue is read in the order of its index, and no further than needed, however long it is.
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
  candidate uuid;
  claimed heddle.runs;
  crash constant json := json_build_object(
    'error', 'RunCrashed',
    'message', format('The run ended its worker %s times and is not tried again.', max_crashes)
  );
begin
  for candidate in
    select r.thread_id
    from heddle.runs r
    where r.finished_at is null
      and ((r.status = 'pending' and r.available_at <= clock_timestamp())
        or (r.status = 'running' and r.lease_until < clock_timestamp()))
      and not exists (
        select 1 from heddle.runs live
        where live.thread_id = r.thread_id and live.finished_at is null
          and live.status = 'running' and live.lease_until >= clock_timestamp()
      )
    order by r.run_number
    limit 100
  loop
    perform 1 from heddle.threads t where t.thread_id = candidate for update skip locked;
    continue when not found;

    -- Locked, since its worker may renew the lease at this moment.
    select * into claimed
    from heddle.runs r
    where r.thread_id = candidate and r.finished_at is null
      and (r.status = 'running' or (r.status = 'pending' and r.available_at <= clock_timestamp()))
    order by r.status = 'running' desc, r.run_number
    limit 1
    for no key update;
    continue when not found or (claimed.status = 'running' and claimed.lease_until >= clock_timestamp());
    if claimed.status = 'running' and claimed.lease_renewed_at > pg_postmaster_start_time() then
      claimed.crashes := claimed.crashes + 1;
    end if;
    continue when claimed.crashes >= below_crashes and claimed.crashes < max_crashes;

    update heddle.threads t
    set fencing_token = t.fencing_token + 1
    where t.thread_id = candidate
    returning t.fencing_token into claimed.fencing_token;

    update heddle.runs r
    set status = 'running',
        attempt = r.attempt + 1,
        crashes = claimed.crashes,
        fencing_token = claimed.fencing_token,
        lease_owner = owner,
        lease_until = clock_timestamp() + lease,
        lease_renewed_at = clock_timestamp(),
        updated_at = clock_timestamp()
    where r.run_id = claimed.run_id
    returning r.* into claimed;

    if claimed.crashes >= max_crashes and claimed.cancel_action is null then
      perform heddle.finish_run(
        claimed.run_id, claimed.fencing_token, 'error', crash, 'error', crash ->> 'message', '{}', null,
        array[(select coalesce(max(e.seq), -1) + 1 from heddle.run_events e where e.run_id = claimed.run_id)],
        array['error'], array[crash::text], array[false]
      );
      claimed.status := 'error';
    end if;
    return next claimed;
    return;
  end loop;
end
$$;
