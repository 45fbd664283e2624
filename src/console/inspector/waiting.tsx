import { formatMs } from "../ui/format.ts";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Badge } from "../ui/badge.tsx";

/** For how long something is awaited. */
export function Waiting({ sinceMs }: { readonly sinceMs: number }) {
  const now = useSignal(performance.now());
  useEffect(() => {
    const timer = setInterval(() => {
      now.value = performance.now();
    }, 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <Badge kind="accent">waiting</Badge>
      <span class="number insp-took">{formatMs(Math.max(0, now.value - sinceMs))}</span>
    </>
  );
}
