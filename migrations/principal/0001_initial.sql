-- Everything that belongs to one principal. Times are Unix milliseconds, states the numbers of the A2A proto.

-- Conversations. A native one is found by (source, conversation key); one of the A2A binding by its id alone. tasks
-- counts the tasks in it, so that a list need not.
CREATE TABLE contexts (
  context_id TEXT NOT NULL PRIMARY KEY,
  source TEXT NOT NULL,
  conversation_key TEXT,
  last_event_ms INTEGER NOT NULL,
  tasks INTEGER NOT NULL
) WITHOUT ROWID;

CREATE UNIQUE INDEX contexts_by_conversation ON contexts (source, conversation_key)
  WHERE conversation_key IS NOT NULL;

-- The durable record of each piece of work. turn_id is the fencing token of the turn that may act on it, and
-- turn_resident the queue that granted it. next_ordinal numbers its history, so that trimming never renumbers.
-- awaits_answer is 1 while a question to the caller stands unanswered.
CREATE TABLE tasks (
  task_id TEXT NOT NULL PRIMARY KEY,
  context_id TEXT NOT NULL,
  source TEXT NOT NULL,
  state INTEGER NOT NULL,
  status_ms INTEGER NOT NULL,
  status_message TEXT,
  created_ms INTEGER NOT NULL,
  activation_id INTEGER NOT NULL,
  next_ordinal INTEGER NOT NULL,
  awaits_answer INTEGER NOT NULL,
  turn_id TEXT,
  turn_resident TEXT
) WITHOUT ROWID;

CREATE INDEX tasks_by_status_time ON tasks (status_ms DESC, task_id DESC);

CREATE INDEX tasks_by_context ON tasks (context_id, status_ms DESC, task_id DESC);

CREATE INDEX tasks_by_state ON tasks (state, status_ms DESC, task_id DESC);

-- How many tasks are in each state, in one row: a list's total without counting. The columns carry the states' numbers.
-- resident is the queue that serves the principal, and moved is 1 where the last new task found another there.
CREATE TABLE task_counts (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  state_1 INTEGER NOT NULL,
  state_2 INTEGER NOT NULL,
  state_3 INTEGER NOT NULL,
  state_4 INTEGER NOT NULL,
  state_5 INTEGER NOT NULL,
  state_6 INTEGER NOT NULL,
  state_7 INTEGER NOT NULL,
  state_8 INTEGER NOT NULL,
  resident TEXT,
  moved INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO task_counts VALUES (1, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0);

-- Keys of this principal's own, made at their first use. page_token authenticates the cursors of its lists.
CREATE TABLE keys (
  name TEXT NOT NULL PRIMARY KEY,
  key TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE messages (
  task_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (task_id, ordinal)
) WITHOUT ROWID;

-- sealed is 1 once nothing more is appended.
CREATE TABLE artifacts (
  task_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL,
  artifact_id TEXT NOT NULL,
  artifact TEXT NOT NULL,
  sealed INTEGER NOT NULL,
  PRIMARY KEY (task_id, ordinal)
) WITHOUT ROWID;

-- One row per accepted activation, and the authority on duplicates. outcome_message is the direct Message where the
-- outcome was one. wake_state: 0 queued, 1 woken, 2 done, 3 parked, 4 failed for good.
CREATE TABLE claims (
  activation_id INTEGER PRIMARY KEY,
  source TEXT NOT NULL,
  dedupe_key TEXT NOT NULL,
  digest TEXT NOT NULL,
  task_id TEXT,
  outcome_message TEXT,
  accepted_ms INTEGER NOT NULL,
  extensions INTEGER NOT NULL,
  accepted_output_modes TEXT,
  wake_state INTEGER NOT NULL,
  deliveries INTEGER NOT NULL,
  failures INTEGER NOT NULL
);

CREATE UNIQUE INDEX claims_by_key ON claims (source, dedupe_key);

CREATE INDEX claims_by_task ON claims (task_id);

-- Turns that are over, and what became of their activation. A grant that comes late gives none of them authority again,
-- and an end that is reported again is answered as the first time.
CREATE TABLE ended_turns (
  activation_id INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  disposition TEXT NOT NULL,
  PRIMARY KEY (activation_id, turn_id)
) WITHOUT ROWID;

-- Tasks that an executor is working on. deadline_ms is when one that was not heard of is given up: what a restart leaves
-- behind. The execution id is the task's fencing token (tasks.turn_id) meanwhile.
CREATE TABLE executions (
  task_id TEXT NOT NULL PRIMARY KEY,
  execution_id TEXT NOT NULL,
  deadline_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX executions_by_deadline ON executions (deadline_ms);

-- What was accepted, woken and failed. Only appended to.
CREATE TABLE evidence (
  evidence_id INTEGER PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  task_id TEXT,
  activation_id INTEGER,
  detail TEXT
);

-- Calls owed to a resident's queue, written in the commit that owes them. An id is never used again, so that an answer
-- that comes late can't be taken for the answer to another notice.
CREATE TABLE outbox (
  outbox_id INTEGER PRIMARY KEY AUTOINCREMENT,
  resident TEXT NOT NULL,
  notice TEXT NOT NULL,
  due_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL
);

-- When to do what is not due yet. The object's one alarm is the earliest of these and of the outbox.
CREATE TABLE timers (
  name TEXT NOT NULL PRIMARY KEY,
  due_ms INTEGER NOT NULL
) WITHOUT ROWID;
