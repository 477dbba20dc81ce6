// Every route of the trusted surface, with a request that is sound.

import { randomUUID } from "node:crypto";

import { delivery, event } from "./intake.mjs";

/** Operation → method, path below `/trusted/v1/`, and body, where it has one. */
export const ROUTES = {
  AcceptActivation: () => ["POST", "activations", event("hello")],
  DeclareSource: () => ["PUT", "sources/chat", { continuation: ["TASK_ID"] }],
  ReadSource: () => ["GET", "sources/chat"],
  AdvanceCheckpoint: () => ["PUT", "sources/chat/checkpoint", { checkpoint: 1, covers: [] }],
  ResolveLocator: () => ["POST", "locators:resolve", { source: "chat", nativeLocator: { channel: "C" } }],
  ReadNativeTask: (id = "t-1") => ["GET", `tasks/${id}`],
  RecordAnchor: (id = "t-1") => ["POST", "anchors", { source: "chat", providerResponseId: "r-1", taskId: id }],
  BeginDelivery: (id = "t-1") => ["POST", "deliveries", delivery(id)],
  SettleDelivery: (id = "d-1") => ["POST", `deliveries/${id}:settle`, { attempt: "a-1", outcome: "DELIVERED" }],
  ReconcileDelivery: (id = "d-1") => ["POST", `deliveries/${id}:reconcile`, { outcome: "ABSENT" }],
  RecordEvidence: () => ["POST", "evidence", { source: "chat", evidenceId: randomUUID(), kind: "IGNORED" }],
  ListSettlements: () => ["GET", "settlements?source=chat"],
};

/** Operations with a body. */
export const WITH_BODY = Object.keys(ROUTES).filter((operation) => ROUTES[operation]()[2] !== undefined);
