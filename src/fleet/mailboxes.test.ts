import { expect, test } from "vitest";
import type { Bus, BusMessage } from "./bus.ts";
import { inboxOf } from "./address.ts";
import { Mailboxes } from "./mailboxes.ts";

test("a message goes to the mailbox that it is for, until that is removed", () => {
  const { mailboxes, receive } = open();
  const [first, second]: [string[], string[]] = [[], []];
  const one = mailboxes.add(({ data }) => void first.push(data.toString()));
  const other = mailboxes.add(({ data }) => void second.push(data.toString()));
  expect(one.subject).toMatch(/^_INBOX\.me\.[\w-]{22}$/);
  expect(one.subject).not.toBe(other.subject);
  receive({ subject: one.subject, data: "1" });
  receive({ subject: other.subject, data: "2" });
  one.remove();
  receive({ subject: one.subject, data: "3" });
  expect([first, second]).toEqual([["1"], ["2"]]);
});

test.each([
  ["who may be told", { reply: "exec.a.run.box" }, ["exec.a.run.box"]],
  ["who may not be told", { reply: "other" }, []],
  ["who does not wait for an answer", {}, []],
  ["NATS, of what nobody has received", { reply: "exec.a.run.box", isUndeliverable: true }, []],
])("a message for a mailbox that is gone, from %s, is answered to %j", (_, message, answered) => {
  const { receive, published } = open();
  receive({ subject: "_INBOX.me.gone", data: "1", ...message });
  expect(published.map(([subject]) => subject)).toEqual(answered);
});

test("two programs of one user do not answer for each other's connections", () => {
  const [one, other] = [inboxOf({ servers: [], inbox: "anna" }), inboxOf({ servers: [], inbox: "anna" })];
  expect(new Set([one, other]).size).toBe(2);
  const { subscriptions } = open(one);
  const [subscription] = subscriptions;
  expect(`${other}.box`.startsWith(subscription!.slice(0, -1))).toBe(false);
});

test("what has a mailbox is not answered", () => {
  const { mailboxes, receive, published } = open();
  const { subject } = mailboxes.add(() => {});
  receive({ subject, data: "1", reply: "exec.a.run.box" });
  expect(published).toEqual([]);
});

test("one subscription serves all mailboxes, and ends with them", () => {
  const { mailboxes, subscriptions, receive } = open();
  const got: string[] = [];
  const { subject } = mailboxes.add(({ data }) => void got.push(data.toString()));
  mailboxes.add(() => {});
  expect([...subscriptions]).toEqual(["_INBOX.me.*"]);
  expect(mailboxes.subject).toBe("_INBOX.me.*");
  mailboxes.close();
  expect([...subscriptions]).toEqual([]);
  receive({ subject, data: "late" });
  expect(got).toEqual([]);
});

function open(inbox = "_INBOX.me") {
  const subscriptions = new Set<string>();
  const published: [string, Uint8Array][] = [];
  let receiver: (message: BusMessage) => void = () => {};
  const bus = {
    subscribe: (subject: string, receive: (message: BusMessage) => void) => {
      subscriptions.add(subject);
      receiver = receive;
      return () => subscriptions.delete(subject);
    },
    publish: (subject: string, data: Uint8Array) => void published.push([subject, data]),
  } as unknown as Bus;
  const mailboxes = new Mailboxes(bus, inbox, (subject) => subject.startsWith("exec."));
  const receive = ({
    data,
    ...message
  }: { subject: string; data: string } & Partial<Omit<BusMessage, "data">>) =>
    receiver({ reply: undefined, isUndeliverable: false, ...message, data: Buffer.from(data) });
  return { mailboxes, subscriptions, published, receive };
}
