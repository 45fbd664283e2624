/** Directory of a user's own server if there is no runtime directory. */
export function ownServerDirectory(user: number): string {
  return `/tmp/exec-server-${user}`;
}
