/**
 * What belongs to a client: created when it is first needed, gone with the client. `end` is called with it when the
 * connection ends.
 */
export function perClient<Client extends { readonly signal: AbortSignal }, T extends object>(
  create: (client: Client) => T,
  end?: (value: T) => void,
): (client: Client) => T {
  const values = new WeakMap<Client, T>();
  return (client) => {
    const known = values.get(client);
    if (known !== undefined) return known;
    const value = create(client);
    values.set(client, value);
    if (end !== undefined) client.signal.addEventListener("abort", () => end(value), { once: true });
    return value;
  };
}
