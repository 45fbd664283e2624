/** Where the own server of a user is if there is no runtime directory. */
export function ownServerDirectory(user: number): string {
  return `/tmp/exec-server-${user}`;
}
