import { below } from "../frame/router.ts";
import type { ViewProps } from "../frame/view.ts";
import styles from "./rows.css";
import { JobList } from "./job-list.tsx";
import { JobView } from "./job-view.tsx";

document.adoptedStyleSheets.push(styles);

/** Work over the rows of a file: the jobs, or one of them by the path of its ledger. */
export default function RowsView({ path }: ViewProps) {
  const ledger = below("/r", path);
  return ledger === undefined || ledger === "" ? <JobList /> : <JobView key={ledger} path={`/${ledger}`} />;
}
