/** A sentence of the protocol, in which code stands between backquotes. */
export function DocText({ text }: { readonly text: string }) {
  return (
    <>{text.split("`").map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))}</>
  );
}
