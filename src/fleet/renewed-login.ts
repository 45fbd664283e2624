import type { Authenticator } from "@nats-io/transport-node";

/**
 * A login whose file is read again for every connection, because such files are renewed. While it cannot be read or used,
 * what it held last is: the NATS library would give up on the connection, and a file may be gone for a moment.
 */
export function renewedLogin(
  read: () => Uint8Array,
  loginWith: (held: Uint8Array) => Authenticator,
): Authenticator {
  let last: Uint8Array | undefined;
  return (nonce) => {
    try {
      const held = read();
      const login = loginWith(held)(nonce);
      last = held;
      return login;
    } catch (error) {
      if (last === undefined) throw error;
      return loginWith(last)(nonce);
    }
  };
}
