// The statements that copy a thread. For one transaction that sees one moment: a run may go on meanwhile.
import type { Queryable } from "../db/database.ts";

/** What it waits for is copied, what it runs is not. */
export const copyState = (db: Queryable, threadId: string, copyId: string) =>
  db.query(
    `update heddle.threads copy
     set config = t.config, state_updated_at = t.state_updated_at,
       status = case t.status when 'interrupted' then t.status else 'idle' end,
       interrupts = case t.status when 'interrupted' then t.interrupts else '{}' end
     from heddle.threads t where copy.thread_id = $2::uuid and t.thread_id = $1::uuid`,
    [threadId, copyId],
  );

/** In the order of the original: the newest is the newest. */
export const copyCheckpointRows = (db: Queryable, threadId: string, copyId: string) =>
  db.query(
    `insert into heddle.checkpoints
       (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
     select $2::text, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata
     from heddle.checkpoints where thread_id = $1::text order by seq`,
    [threadId, copyId],
  );

export const copyBlobRows = (db: Queryable, threadId: string, copyId: string) =>
  db.query(
    `insert into heddle.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
     select $2::text, checkpoint_ns, channel, version, type, blob
     from heddle.checkpoint_blobs where thread_id = $1::text`,
    [threadId, copyId],
  );

export const copyWriteRows = (db: Queryable, threadId: string, copyId: string) =>
  db.query(
    `insert into heddle.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
     select $2::text, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob
     from heddle.checkpoint_writes where thread_id = $1::text`,
    [threadId, copyId],
  );

/** What the conversation has learned; not its messages' states, nor what its clients have been told. */
export const copyConversation = (db: Queryable, threadId: string, copyId: string) =>
  db.query(
    `insert into heddle.conversation_states (conversation_id, values, version)
     select $2::uuid, values, 1 from heddle.conversation_states where conversation_id = $1::uuid and version > 0`,
    [threadId, copyId],
  );
