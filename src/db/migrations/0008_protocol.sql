-- The newer thread protocol numbers the events of all of a thread's runs in one sequence. Each run has a place in it:
-- stream_base, where its numbers start, given when it is claimed for the first time. The thread's fencing token only
-- grows, whatever is deleted or rolled back, so no place is given twice; and a thread's runs start one after the other, so
-- the order of the places is the order in which things happened. 2^28 numbers for each token: 2^25 tokens before a number
-- is more than a JavaScript number can hold. No index: a claim changes nothing that is in one.
alter table heddle.runs
  add column stream_base bigint,
  add column stream_started_at timestamptz;

update heddle.runs
set stream_base = fencing_token << 28, stream_started_at = created_at
where fencing_token is not null;

-- A run that ends before anybody has claimed it comes between the run that holds the newest token and the next one. Who
-- ends such a run holds the thread's row.
create function heddle.place_run_in_stream() returns trigger language plpgsql as $$
begin
  new.stream_started_at := clock_timestamp();
  if new.fencing_token is not null then
    new.stream_base := new.fencing_token << 28;
  else
    select greatest(
      (t.fencing_token << 28) + (1 << 27),
      (select max(r.stream_base) + 2 from heddle.runs r where r.thread_id = t.thread_id)
    ) into new.stream_base
    from heddle.threads t where t.thread_id = new.thread_id;
  end if;
  return new;
end
$$;
create trigger place_run_in_stream before update on heddle.runs
  for each row
  when (old.stream_base is null and (new.fencing_token is not null or new.status not in ('pending', 'running')))
  execute function heddle.place_run_in_stream();
