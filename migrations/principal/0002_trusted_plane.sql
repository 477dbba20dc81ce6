-- What native sources bring: where events came from, where answers went, and how long all of it is kept.

-- The origin of a native activation, beside its claim. locator_digest finds the newest activation of an exact locator.
CREATE TABLE origins (
  activation_id INTEGER PRIMARY KEY,
  task_id TEXT NOT NULL,
  source TEXT NOT NULL,
  provider_event_id TEXT NOT NULL,
  conversation_key TEXT,
  native_locator TEXT NOT NULL,
  locator_digest TEXT NOT NULL,
  received_ms INTEGER NOT NULL,
  content_digest TEXT NOT NULL,
  display_url TEXT,
  evidence_locator TEXT
);

CREATE INDEX origins_by_locator ON origins (source, locator_digest, activation_id);

CREATE INDEX origins_by_task ON origins (task_id);

-- What a source declared, and how far it has read. continuation: 1 a verified reply continues a task, 2 an authorized
-- taskId does; 0 neither.
CREATE TABLE sources (
  source TEXT NOT NULL PRIMARY KEY,
  continuation INTEGER NOT NULL,
  checkpoint TEXT,
  checkpoint_version INTEGER NOT NULL,
  checkpoint_ms INTEGER
) WITHOUT ROWID;

-- The task that a provider's response was sent for. A row is never changed.
CREATE TABLE reply_anchors (
  source TEXT NOT NULL,
  provider_response_id TEXT NOT NULL,
  task_id TEXT NOT NULL,
  recorded_ms INTEGER NOT NULL,
  PRIMARY KEY (source, provider_response_id)
) WITHOUT ROWID;

CREATE INDEX reply_anchors_by_task ON reply_anchors (task_id);

-- Outbound mutations at providers. recovery: 1 idempotent, 2 lookup, 3 ambiguous. state: 1 sending, 2 delivered,
-- 3 failed and to be tried again, 4 ambiguous. attempt is whose turn it is to send, until held_until_ms; outcome is how it
-- said that it went: 1 delivered, 2 refused, 3 indeterminate.
CREATE TABLE deliveries (
  delivery_id TEXT NOT NULL PRIMARY KEY,
  task_id TEXT NOT NULL,
  source TEXT NOT NULL,
  operation_id TEXT NOT NULL,
  payload_digest TEXT NOT NULL,
  recovery INTEGER NOT NULL,
  state INTEGER NOT NULL,
  attempt TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  outcome INTEGER,
  holder TEXT,
  held_until_ms INTEGER NOT NULL,
  updated_ms INTEGER NOT NULL,
  provider_response_id TEXT,
  reason TEXT
) WITHOUT ROWID;

CREATE INDEX deliveries_by_task ON deliveries (task_id);

CREATE INDEX deliveries_beyond_lookup ON deliveries (held_until_ms) WHERE state = 1 AND recovery = 3;

-- Native tasks that were settled, in order, for their sources. due_ms is when the source is told again, and NULL once it
-- has been, or where it asks by itself. principal is whose task it is, for whoever is told by an alarm.
CREATE TABLE settlements (
  settlement_id INTEGER PRIMARY KEY AUTOINCREMENT,
  principal TEXT NOT NULL,
  source TEXT NOT NULL,
  task_id TEXT NOT NULL,
  state INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  due_ms INTEGER,
  attempts INTEGER NOT NULL
);

CREATE INDEX settlements_by_source ON settlements (source, settlement_id);

CREATE INDEX settlements_due ON settlements (due_ms) WHERE due_ms IS NOT NULL;

CREATE INDEX settlements_by_task ON settlements (task_id);

-- Evidence of a source's own carries its name and its id there. occurrences is NULL where each is a row, and counts where
-- it is counted in place.
ALTER TABLE evidence ADD COLUMN source TEXT;

ALTER TABLE evidence ADD COLUMN source_evidence_id TEXT;

ALTER TABLE evidence ADD COLUMN occurrences INTEGER;

CREATE INDEX evidence_by_task ON evidence (task_id, evidence_id) WHERE task_id IS NOT NULL;

CREATE UNIQUE INDEX evidence_by_source_id ON evidence (source, source_evidence_id)
  WHERE source_evidence_id IS NOT NULL;

-- When the records of this principal are looked through for what is past its time, NULL while there is nothing; and the
-- evidence up to which the last look came.
ALTER TABLE task_counts ADD COLUMN retention_ms INTEGER;

ALTER TABLE task_counts ADD COLUMN evidence_cursor INTEGER NOT NULL DEFAULT 0;

UPDATE task_counts SET retention_ms = 0 WHERE EXISTS (SELECT 1 FROM claims);

-- What retention looks for besides terminal tasks: direct answers and empty conversations.
CREATE INDEX claims_without_task ON claims (accepted_ms) WHERE task_id IS NULL;

CREATE INDEX contexts_without_tasks ON contexts (last_event_ms) WHERE tasks = 0;

-- The outbox is looked through by time, however much of it waits.
CREATE INDEX outbox_by_due ON outbox (due_ms);
