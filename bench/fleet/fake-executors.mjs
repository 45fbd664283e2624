// One program that is many executors, as far as beats and roll calls go. Its loads change with every beat. On a message of
// its parent, one more joins and leaves again, and the answer says when the beat was given to NATS.
import { connect } from "@nats-io/transport-node";

const BEAT_MS = 2_000;
/** Beats come evenly, as those of machines that were started at different times. */
const TICK_MS = 50;

const [servers, count] = process.argv.slice(2);
const connection = await connect({ servers, maxReconnectAttempts: -1 });
const since = Date.now();
const ids = Array.from({ length: Number(count) }, (_, at) => `fake-${String(at).padStart(5, "0")}`);

function beat(id, state = "ready") {
  const running = Math.floor(Math.random() * 16);
  return JSON.stringify({
    protocol: 1,
    id,
    run: `run-${id}`,
    since,
    version: "0.1.0",
    labels: { zone: `zone-${id.length}`, arch: "x64", pool: "fake" },
    running,
    free: 16 - running,
    load: Math.round(Math.random() * 100) / 100,
    state,
  });
}

const tell = (id, state) => connection.publish(`exec.${id}.beat`, beat(id, state));

connection.subscribe("fleet.call", {
  callback: (_error, message) => {
    for (const id of ids) {
      tell(id);
      connection.publish(message.reply);
    }
  },
});

let next = 0;
setInterval(() => {
  const due = Math.ceil((ids.length * TICK_MS) / BEAT_MS);
  for (let told = 0; told < due; told += 1) {
    tell(ids[next % ids.length]);
    next += 1;
  }
}, TICK_MS);

process.on("message", ({ join }) => {
  const at = process.hrtime.bigint();
  tell(join);
  process.send({ joined: join, at: String(at) });
  tell(join, "gone");
});
await connection.flush();
process.send({ ready: true });
