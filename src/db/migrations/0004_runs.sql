-- Why a run was told to stop; null: nobody has told it.
alter table heddle.runs add column cancel_reason text;
