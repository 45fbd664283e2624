import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ByteBudget, type ConnectionBudget, type Reservation } from "./byte-budget.ts";

const MIB = 1024 * 1024;

/** A connection whose client reads on demand. */
class Client {
  queued = 0;
  reads = true;
  readonly #answers: (() => void)[] = [];
  readonly budget: ConnectionBudget;

  constructor(server: ByteBudget) {
    this.budget = server.connect({
      queuedBytes: () => this.queued,
      // The answer takes a while, and comes when everything before it was read.
      ping: (answered) => {
        setImmediate(() => {
          if (this.queued === 0 && this.reads) answered();
          else this.#answers.push(answered);
        });
        return true;
      },
    });
  }

  /** The answer for which a reservation was made. */
  answer(reservation: Reservation): void {
    this.queued += reservation.bytes;
    reservation.release();
    this.budget.queueChanged();
  }

  read(): void {
    this.queued = 0;
    for (const answered of this.#answers.splice(0)) answered();
    this.budget.queueChanged();
  }
}

/** A reservation, and whether it was granted. */
interface Wish {
  readonly reservation: Reservation;
  granted: boolean;
  failure: unknown;
}

function wish({ budget }: Client, bytes: number): Wish {
  const made: Wish = { reservation: budget.open(), granted: false, failure: undefined };
  grow(made, bytes);
  return made;
}

function grow(made: Wish, bytes: number): void {
  made.granted = false;
  const waiting = made.reservation.grow(bytes);
  if (waiting === undefined) made.granted = true;
  else
    waiting.then(
      () => {
        made.granted = true;
      },
      (error: unknown) => {
        made.failure = error;
      },
    );
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await vi.advanceTimersByTimeAsync(1);
};

const settled = async (made: Wish): Promise<Wish> => settle().then(() => made);

const granted = (wishes: readonly Wish[]): boolean[] => wishes.map((made) => made.granted);

function createBudget(perConnection: number, all: number): ByteBudget {
  return new ByteBudget({
    maxBufferedBytesPerConnection: perConnection * MIB,
    maxBufferedBytes: all * MIB,
  });
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the budget of a connection", () => {
  it("lets requests wait beyond it, and continue in order when something is given back", async () => {
    const client = new Client(createBudget(64, 1024));
    const wishes = [30, 30, 30, 1].map((size) => wish(client, size * MIB));
    // The third is let past the budget, so that there is always one that can end.
    expect(granted(wishes)).toEqual([true, true, true, false]);
    wishes[2]?.reservation.release();
    await settle();
    expect(granted(wishes)).toEqual([true, true, true, true]);
  });

  it("lets one that is larger than it through, alone", async () => {
    const client = new Client(createBudget(64, 1024));
    const wishes = [500, 500, 1].map((size) => wish(client, size * MIB));
    expect(granted(wishes)).toEqual([true, false, false]);
    wishes[0]?.reservation.release();
    await settle();
    expect(granted(wishes)).toEqual([true, true, false]);
    wishes[1]?.reservation.release();
    await settle();
    expect(granted(wishes)).toEqual([true, true, true]);
  });

  it("counts what the client has not read, and makes no exception before it has read that", async () => {
    const client = new Client(createBudget(64, 1024));
    const wishes = [80, 80].map((size) => wish(client, size * MIB));
    client.answer(wishes[0]!.reservation);
    await settle();
    expect(granted(wishes)).toEqual([true, false]);
    expect(client.budget.hasRoom).toBe(false);
    client.read();
    await settle();
    expect(granted(wishes)).toEqual([true, true]);
    expect(client.budget.hasRoom).toBe(true);
  });

  it("has room for small requests whatever is reserved, as long as the client reads", async () => {
    const client = new Client(createBudget(64, 64));
    expect((await settled(wish(client, 500 * MIB))).granted).toBe(true);
    client.queued = MIB - 1;
    expect(client.budget.hasRoom).toBe(true);
    client.queued = MIB;
    expect(client.budget.hasRoom).toBe(false);
  });

  it.each([1, 3, 24, 200])(
    "lets %d that grow step by step all end, and holds little more than it",
    async (count) => {
      const client = new Client(createBudget(64, 1024));
      const size = 60 * MIB;
      const wishes = Array.from({ length: count }, () => wish(client, MIB));
      let most = 0;
      let left = count;
      for (let step = 0; left > 0 && step < 60 * (count + 2); step += 1) {
        for (const made of wishes) {
          if (!made.granted || made.reservation.released) continue;
          if (made.reservation.bytes < size) {
            grow(made, made.reservation.bytes + MIB);
            continue;
          }
          client.answer(made.reservation);
          left -= 1;
        }
        const held = wishes.reduce(
          (sum, { reservation }) => sum + (reservation.released ? 0 : reservation.bytes),
          0,
        );
        most = Math.max(most, held + client.queued);
        client.read();
        await settle();
      }
      expect(left).toBe(0);
      expect(most).toBeLessThanOrEqual((64 + 60 + 1) * MIB);
    },
  );

  it("grants nothing to a connection that has ended, and wakes those that wait", async () => {
    const client = new Client(createBudget(64, 1024));
    const wishes = [100, 100].map((size) => wish(client, size * MIB));
    client.budget.close();
    const late = wish(client, 1);
    await settle();
    const ended: unknown = expect.objectContaining({ message: "the connection has ended" });
    expect([wishes[1]?.failure, late.failure]).toEqual([ended, ended]);
    wishes[0]?.reservation.release();
    wishes[0]?.reservation.release();
  });

  it("passes over one that was released while it waited", async () => {
    const client = new Client(createBudget(64, 1024));
    const wishes = [100, 100, 10].map((size) => wish(client, size * MIB));
    wishes[1]?.reservation.release();
    wishes[0]?.reservation.release();
    await settle();
    expect(granted(wishes)).toEqual([true, true, true]);
    expect(wishes[1]?.reservation.bytes).toBe(0);
  });
});

describe("the budget of the server", () => {
  it("makes a connection wait for others, but not for its guaranteed bytes", async () => {
    const server = createBudget(64, 100);
    const [one, two, three] = [new Client(server), new Client(server), new Client(server)];
    const wishes = [wish(one, 60 * MIB), wish(two, 60 * MIB), wish(three, 60 * MIB), wish(three, MIB)];
    // The second is beyond it; one at a time may be.
    expect(granted(wishes)).toEqual([true, false, false, false]);
    await settle();
    expect(granted(wishes)).toEqual([true, true, false, false]);
    const other = new Client(server);
    expect(granted([wish(other, MIB), wish(other, 1)])).toEqual([true, false]);
    two.answer(wishes[1]!.reservation);
    await settle();
    expect(wishes[2]?.granted).toBe(false);
    two.read();
    await settle();
    expect(wishes[2]?.granted).toBe(true);
  });

  it("is no place where clients that do not read can stop others for good", async () => {
    const server = createBudget(64, 192);
    const stalled = Array.from({ length: 8 }, () => new Client(server));
    const wishes: Wish[] = [];
    for (const client of stalled) {
      client.reads = false;
      const made = wish(client, 80 * MIB);
      await vi.advanceTimersByTimeAsync(10_000);
      wishes.push(made);
      if (!made.granted) continue;
      client.answer(made.reservation);
      // It wants more, and waits for itself only.
      wish(client, 80 * MIB);
    }
    // A client that does not read is not admitted beyond the budget.
    expect(wishes.filter((made) => made.granted)).toHaveLength(2);
    const reader = new Client(server);
    for (let round = 0; round < 5; round += 1) {
      const made = wish(reader, 80 * MIB);
      await settle();
      expect(made.granted).toBe(true);
      reader.answer(made.reservation);
      reader.read();
      await settle();
    }
    // One that stops after it was let past the budget holds up the next for a moment only.
    const traitor = new Client(server);
    const [made, next] = [wish(traitor, 80 * MIB), wish(reader, 80 * MIB)];
    await settle();
    expect(granted([made, next])).toEqual([true, false]);
    traitor.answer(made.reservation);
    await vi.advanceTimersByTimeAsync(4_100);
    expect(next.granted).toBe(true);
    for (const client of stalled) client.read();
    for (let round = 0; round < 8; round += 1) {
      for (const [index, wished] of wishes.entries()) if (wished.granted) stalled[index]?.read();
      await vi.advanceTimersByTimeAsync(2_000);
      for (const wished of wishes) if (wished.granted) wished.reservation.release();
    }
    expect(granted(wishes)).toEqual(wishes.map(() => true));
  });

  it("gives turns to connections, not to requests", async () => {
    const server = createBudget(1024, 100);
    const [greedy, modest] = [new Client(server), new Client(server)];
    const first = wish(greedy, 100 * MIB);
    const many = Array.from({ length: 5 }, () => wish(greedy, 60 * MIB));
    const one = wish(modest, 60 * MIB);
    await settle();
    expect(first.granted).toBe(true);
    for (const made of [first, ...many]) {
      if (made.granted) made.reservation.release();
      await settle();
      if (one.granted) break;
    }
    expect(one.granted).toBe(true);
    expect(many.at(-1)?.granted).toBe(false);
  });

  it("is whole again when everything was given back", async () => {
    const server = createBudget(64, 100);
    const clients = Array.from({ length: 5 }, () => new Client(server));
    const wishes = clients.map((client) => wish(client, 90 * MIB));
    for (const client of clients) client.budget.close();
    for (const { reservation } of wishes) reservation.release();
    await settle();
    const last = new Client(server);
    expect(wish(last, MIB).granted).toBe(true);
    expect(server.isFull).toBe(false);
  });
});
