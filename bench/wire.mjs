import { BULK_MEMBERS } from "./bulk.mjs";
import { openStdio } from "./stdio-channel.mjs";
import { openWebSocket } from "./websocket-channel.mjs";

// Both servers put the method or the id first; other messages are still understood, through JSON.parse.
const HEAD_BYTES = 40;
const BULK_METHOD = new RegExp(`"method":"(${Object.keys(BULK_MEMBERS).join("|")})"`);
const ID = /^\{"id":(\d+),"result"/;

/**
 * One raw JSON-RPC connection. `onBulk` gets the method and the undecoded message of every notification that carries bytes,
 * valid only during the call; `onNotification` gets every other notification.
 */
export class Wire {
  onBulk = () => {};
  onNotification = () => {};
  #channel;
  #nextId = 1;
  #pending = new Map();
  #failure = null;
  #outgoing = [];

  static async connect(url, { small } = {}) {
    const wire = new Wire();
    wire.#channel = await openWebSocket(url, { ...wire.#events(), small });
    return wire;
  }

  static overStdio(pipes) {
    const wire = new Wire();
    wire.#channel = openStdio(pipes, wire.#events());
    return wire;
  }

  #events() {
    return { onMessage: (message) => this.#message(message), onEnd: (error) => this.#fail(error) };
  }

  #message(message) {
    const head = message.toString("latin1", 0, HEAD_BYTES);
    const method = BULK_METHOD.exec(head)?.[1];
    if (method) return this.onBulk(method, message);
    const bulkCall = this.#pending.get(Number(ID.exec(head)?.[1]));
    if (bulkCall?.read) {
      this.#pending.delete(bulkCall.id);
      return bulkCall.resolve(bulkCall.read(message));
    }
    const parsed = JSON.parse(message.toString());
    if (parsed.method in BULK_MEMBERS) return this.onBulk(parsed.method, message);
    if (parsed.method !== undefined) return this.onNotification(parsed.method, parsed.params);
    const call = this.#pending.get(parsed.id);
    if (!call) throw new Error(`an answer to nothing: ${message.toString("latin1", 0, 200)}`);
    this.#pending.delete(parsed.id);
    if (parsed.error) call.reject(new Error(`${call.method}: ${parsed.error.code} ${parsed.error.message}`));
    else call.resolve(parsed.result);
  }

  #fail(error) {
    if (this.#failure) return;
    this.#failure = error;
    for (const call of this.#pending.values()) call.reject(error);
    this.#pending.clear();
  }

  /** A request that is encoded but not sent. With `read`, the result is `read` of the unparsed answer. */
  prepare(method, params = null, read) {
    const id = this.#nextId++;
    const bytes = this.#channel.encode(JSON.stringify({ id, method, params }));
    return { id, method, bytes, read };
  }

  /** Sends prepared requests; returns a promise for each answer. */
  sendAll(prepared) {
    if (this.#failure) return prepared.map(() => Promise.reject(this.#failure));
    const answers = prepared.map(
      ({ id, method, read }) =>
        new Promise((resolve, reject) => this.#pending.set(id, { id, method, read, resolve, reject })),
    );
    for (const { bytes } of prepared) this.#write(bytes);
    return answers;
  }

  send(prepared) {
    return this.sendAll([prepared])[0];
  }

  request(method, params = null, read) {
    return this.send(this.prepare(method, params, read));
  }

  notify(method, params = {}) {
    this.#write(this.#channel.encode(JSON.stringify({ method, params })));
  }

  /**
   * Joins everything sent in one turn into one write: a system call for each would cost the client more than its other
   * work.
   */
  #write(bytes) {
    this.#outgoing.push(bytes);
    if (this.#outgoing.length > 1) return;
    process.nextTick(() => {
      const outgoing = this.#outgoing;
      this.#outgoing = [];
      if (!this.#failure) this.#channel.write(outgoing.length === 1 ? outgoing[0] : Buffer.concat(outgoing));
    });
  }

  /** Stops reading from the connection, like a client that hangs. */
  pause() {
    this.#channel.pause();
  }

  resume() {
    this.#channel.resume();
  }

  close() {
    this.#fail(new Error("closed by the bench"));
    this.#channel.close();
  }
}
