-- Threads: when their state has changed, how long they are kept, and how what they hold is removed.
--
-- ttl_minutes counts from the thread's last activity; what then happens is ttl_strategy. delete_after is when that is: also
-- of a thread without a ttl, that of a stateless run, which is deleted.
alter table heddle.threads
  add column state_updated_at timestamptz not null default now(),
  add column ttl_minutes double precision check (ttl_minutes > 0),
  add column ttl_strategy text not null default 'delete' check (ttl_strategy in ('delete', 'keep_latest'));
update heddle.threads set state_updated_at = updated_at;

-- The end of a run is the one statement that changes the fencing token and the time together.
create function heddle.note_state() returns trigger language plpgsql as $$
begin
  new.state_updated_at := new.updated_at;
  return new;
end
$$;
create trigger note_state before update on heddle.threads for each row
  when (new.fencing_token <> old.fencing_token and new.updated_at <> old.updated_at)
  execute function heddle.note_state();

-- Activity is whatever changes updated_at. Who sets delete_after himself has decided.
create function heddle.put_off_expiry() returns trigger language plpgsql as $$
begin
  new.delete_after := clock_timestamp() + make_interval(secs => new.ttl_minutes * 60);
  return new;
end
$$;
create trigger put_off_expiry before update on heddle.threads for each row
  when (new.ttl_minutes is not null and new.updated_at <> old.updated_at
    and new.delete_after is not distinct from old.delete_after)
  execute function heddle.put_off_expiry();

-- What deleted threads and runs have left: nobody can reach it any more, and it is removed in batches. A thread is
-- deleted for everybody in the moment in which its row goes and its id comes here, however much it holds.
create table heddle.deleted_threads (
  thread_id uuid primary key
);
create table heddle.deleted_runs (
  run_id uuid primary key
);

-- A new thread with the id of one whose checkpoints are still there would have them. The code is that of a lock that is
-- not available: another time it will be. After the insert, since only then are all deletions of the id committed.
create function heddle.refuse_leftovers() returns trigger language plpgsql as $$
begin
  if exists (select 1 from heddle.deleted_threads d where d.thread_id = new.thread_id) then
    raise exception 'thread % is still being deleted', new.thread_id using errcode = '55P03';
  end if;
  return null;
end
$$;
create trigger refuse_leftovers after insert on heddle.threads
  for each row execute function heddle.refuse_leftovers();

-- The events of deleted runs: a few go at once, more are left to be removed in batches.
create or replace function heddle.delete_events() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  delete from heddle.run_events
  where ctid = any (array(select e.ctid from gone join heddle.run_events e on e.run_id = gone.run_id limit 10000));
  insert into heddle.deleted_runs (run_id)
  select gone.run_id from gone
  where exists (select 1 from heddle.run_events e where e.run_id = gone.run_id)
  on conflict do nothing;
  return null;
end
$$;
