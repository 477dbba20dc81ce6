-- Remote agents that this principal may call. provenance: 0 the deployment's vars, 1 the principal's own, which goes first
-- where both define an alias. definition is NULL where the vars are malformed, and problem says how. enabled is NULL where
-- the deployment's default, enabled_by_default, stands.
CREATE TABLE agents (
  alias TEXT NOT NULL,
  provenance INTEGER NOT NULL,
  definition TEXT,
  problem TEXT,
  enabled_by_default INTEGER NOT NULL,
  enabled INTEGER,
  PRIMARY KEY (alias, provenance)
) WITHOUT ROWID;

-- Their cards, as they were last fetched under the definition that stands here. line is the catalog's. interface and card
-- are NULL where there was none, and problem says why.
CREATE TABLE agent_cards (
  alias TEXT NOT NULL PRIMARY KEY,
  definition TEXT NOT NULL,
  card TEXT,
  line TEXT,
  interface TEXT,
  streaming INTEGER NOT NULL,
  etag TEXT,
  last_modified TEXT,
  fresh_until_ms INTEGER NOT NULL,
  problem TEXT
) WITHOUT ROWID;

-- Messages sent to remote agents, each with the task whose turn sent it, and what came of it: nothing yet, a Task or a
-- Message, as JSON in answer. request is what is still to be sent. phase: 0 to be sent, 1 followed, 2 settled, 3 to be
-- canceled, 4 given up. due_ms is when something is to be done next, and deadline_ms when it is given up. leased is 1 while
-- an object is at it: what a later life of the object finds leased is due at once.
CREATE TABLE remote_calls (
  call_id INTEGER PRIMARY KEY AUTOINCREMENT,
  principal TEXT NOT NULL,
  task_id TEXT NOT NULL,
  alias TEXT NOT NULL,
  interface TEXT NOT NULL,
  streaming INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  request TEXT,
  remote_task_id TEXT,
  remote_message_id TEXT,
  state INTEGER,
  answer TEXT,
  phase INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  faults INTEGER NOT NULL,
  settlements INTEGER NOT NULL,
  problem TEXT,
  due_ms INTEGER,
  leased INTEGER NOT NULL,
  deadline_ms INTEGER NOT NULL
);

CREATE INDEX remote_calls_leased ON remote_calls (call_id) WHERE leased = 1;

CREATE INDEX remote_calls_by_due ON remote_calls (due_ms) WHERE due_ms IS NOT NULL;

CREATE INDEX remote_calls_by_task ON remote_calls (task_id, call_id);

CREATE INDEX remote_calls_by_remote_task ON remote_calls (alias, remote_task_id);
