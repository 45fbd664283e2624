/** A message on the wire as it passed. */
export interface PassedMessage {
  readonly direction: "sent" | "received";
  readonly text: string;
  readonly atMs: number;
}

type Listener = (message: PassedMessage) => void;

const listeners = new Set<Listener>();

/** All messages pass here, on any connection. Nothing is stored: interested views listen. */
export function passMessage(direction: PassedMessage["direction"], text: string): void {
  if (listeners.size === 0) return;
  const message = { direction, text, atMs: Date.now() };
  for (const listener of listeners) listener(message);
}

export function listenToMessages(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
