/** Whether a URL names this machine by an address that other machines cannot have. */
export function isLoopbackUrl({ hostname }: URL): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}
