import { afterEach, expect, it, vi } from "vitest";
import { silentLogger } from "../../base/logger.ts";
import { findAccount, type NumberedAccount } from "../../native/account.ts";
import type { Transport } from "../../transport/transport.ts";
import { Cordon } from "../settings/cordon.ts";
import { type AdmittedClient, SERVER_FAILED } from "./relayed-client.ts";
import { UserServers, type UserServersOptions } from "./user-servers.ts";

vi.mock("../../native/account.ts");
/** Every server that was started, with the account that it runs as. */
const started = vi.hoisted((): { account: unknown; served: number }[] => []);
vi.mock("./user-server.ts", () => ({
  OWN_USER: -1,
  UserServer: class {
    readonly account: NumberedAccount;
    readonly uid: number;
    served = 0;
    constructor(account: NumberedAccount) {
      this.account = account;
      this.uid = account.uid;
      started.push(this);
    }
    accept(): void {
      this.served += 1;
    }
  },
}));

const ANN: NumberedAccount = { name: "ann", uid: 1000, gid: 1000, home: "/home/ann", shell: "/bin/sh" };
const find = vi.mocked(findAccount);

afterEach(() => {
  started.length = 0;
});

/** Connects as that user; why it was sent away. */
function connect(users: UserServers, account: NumberedAccount): string | undefined {
  let refused: string | undefined;
  const transport = {
    close: ({ code, reason }: { code: number; reason: string }) => {
      expect(code).toBe(SERVER_FAILED);
      refused = reason;
    },
  } as unknown as Transport;
  users.accept(transport, account, {} as AdmittedClient);
  return refused;
}

const open = (): UserServers =>
  new UserServers({
    logger: silentLogger,
    observers: [],
    cordon: new Cordon(),
    enter: () => () => {},
  } as unknown as UserServersOptions);

it.each<[string, NumberedAccount | undefined]>([
  ["is gone", undefined],
  ["has another number", { ...ANN, uid: 1001 }],
])("nobody is admitted as a user that %s, although its server still runs", (_, changed) => {
  const users = open();
  find.mockReturnValue(ANN);
  expect(connect(users, ANN)).toBeUndefined();
  find.mockReturnValue(changed);
  expect(connect(users, ANN)).toBe("the user ann is gone or has a different user ID now");
  expect(started.map(({ served }) => served)).toEqual([1]);
  find.mockReturnValue(ANN);
  expect(connect(users, ANN)).toBeUndefined();
  expect(started.map(({ served }) => served)).toEqual([2]);
});

it("a server starts with the group, home and shell that its user has by then", () => {
  const now = { ...ANN, gid: 7, home: "/srv/ann", shell: "/bin/bash" };
  find.mockReturnValue(now);
  expect(connect(open(), ANN)).toBeUndefined();
  expect(started.map(({ account }) => account)).toEqual([now]);
});
