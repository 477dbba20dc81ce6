-- One resident's queue. Times are Unix milliseconds.

-- Pending wakes, first in, first out. not_before_ms is set while a failed attempt backs off. turn_id is the turn that was
-- reserved for it before, if its principal may have granted it: asking for the same turn again is no second delivery.
CREATE TABLE wakes (
  wake_id INTEGER PRIMARY KEY,
  principal TEXT NOT NULL,
  activation_id INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  not_before_ms INTEGER,
  turn_id TEXT
);

CREATE UNIQUE INDEX wakes_by_activation ON wakes (principal, activation_id);

CREATE INDEX wakes_ready ON wakes (wake_id) WHERE not_before_ms IS NULL;

CREATE INDEX wakes_delayed ON wakes (not_before_ms) WHERE not_before_ms IS NOT NULL;

-- The one turn. phase: 0 reserved (the principal has not granted it yet), 1 live, 2 ending (the principal has not been
-- told yet). due_ms is when its lease ends, or when to try again what its phase waits for.
CREATE TABLE turn (
  only INTEGER NOT NULL PRIMARY KEY CHECK (only = 1),
  turn_id TEXT NOT NULL,
  session TEXT NOT NULL,
  principal TEXT NOT NULL,
  activation_id INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  context_id TEXT NOT NULL,
  delivery INTEGER NOT NULL,
  secret_sha256 TEXT NOT NULL,
  phase INTEGER NOT NULL,
  lease_ms INTEGER NOT NULL,
  outcome TEXT,
  reserved_ms INTEGER NOT NULL,
  due_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL
) WITHOUT ROWID;

-- Resident sessions, newest last. Only the newest may take wakes. assigned is 1 once the session was told whom the
-- deployment has it serve.
CREATE TABLE sessions (
  session TEXT NOT NULL PRIMARY KEY,
  assigned INTEGER NOT NULL,
  ordinal INTEGER NOT NULL
) WITHOUT ROWID;

CREATE UNIQUE INDEX sessions_by_ordinal ON sessions (ordinal);

-- Turns that ended lately and why, so that a heartbeat that comes too late is told.
CREATE TABLE ended_turns (
  turn_id TEXT NOT NULL PRIMARY KEY,
  reason TEXT NOT NULL,
  ended_ms INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX ended_turns_by_time ON ended_turns (ended_ms);

-- Principals that have had work here. replay_due_ms is set while one is still to be asked what it has open; assigned is
-- 1 where the deployment names this resident for it.
CREATE TABLE principals (
  principal TEXT NOT NULL PRIMARY KEY,
  assigned INTEGER NOT NULL,
  replay_due_ms INTEGER,
  attempts INTEGER NOT NULL
) WITHOUT ROWID;

CREATE INDEX principals_to_replay ON principals (replay_due_ms) WHERE replay_due_ms IS NOT NULL;

-- Wakes that the resident is still to be told of, where the deployment pushes them. attempts counts the tries begun.
CREATE TABLE pushes (
  principal TEXT NOT NULL,
  activation_id INTEGER NOT NULL,
  task_id TEXT NOT NULL,
  due_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  PRIMARY KEY (principal, activation_id)
) WITHOUT ROWID;

CREATE INDEX pushes_by_time ON pushes (due_ms);
