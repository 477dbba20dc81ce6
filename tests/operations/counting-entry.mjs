// The Worker with every call to an object, transaction, alarm and row counted, as a module in front of it.

/** The text of the module. `GET /counts` gives what was counted since the last time, and begins anew. */
export const COUNTING = `
import worker, { PrincipalObject as Principal, WakeQueueObject as WakeQueue } from "./worker.mjs";

let counts;
let cursors;
function begin() {
  counts = { calls: 0, alarms: 0, alarmsSet: 0, transactions: 0 };
  cursors = [];
}
begin();

function counting(Class) {
  return class extends Class {
    constructor(ctx, env) {
      const { storage } = ctx;
      const { sql } = storage;
      const exec = sql.exec.bind(sql);
      sql.exec = (...statement) => {
        const cursor = exec(...statement);
        cursors.push(cursor);
        return cursor;
      };
      const transactionSync = storage.transactionSync.bind(storage);
      storage.transactionSync = (work) => {
        counts.transactions += 1;
        return transactionSync(work);
      };
      const setAlarm = storage.setAlarm.bind(storage);
      storage.setAlarm = (...time) => {
        counts.alarmsSet += 1;
        return setAlarm(...time);
      };
      super(ctx, env);
    }

    call(command) {
      counts.calls += 1;
      return super.call(command);
    }

    fetch(request) {
      counts.calls += 1;
      return super.fetch(request);
    }

    alarm() {
      counts.alarms += 1;
      return super.alarm();
    }
  };
}

export const PrincipalObject = counting(Principal);
export const WakeQueueObject = counting(WakeQueue);

export default {
  fetch(request, env, ctx) {
    if (new URL(request.url).pathname !== "/counts") return worker.fetch(request, env, ctx);
    const sum = (rows) => cursors.reduce((total, cursor) => total + cursor[rows], 0);
    const counted = { ...counts, statements: cursors.length, read: sum("rowsRead"), written: sum("rowsWritten") };
    begin();
    return Response.json(counted);
  },
};
`;
