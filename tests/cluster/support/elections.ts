/** Elections of test controllers: the default one lasts too long. In: nothing. Out: flags of the controller. */
import { CI_PATIENCE } from "../../../tools/ci/patience.ts";

/**
 * An election that is lost within a short fault, and won again after it; a busy API server takes longer than its
 * calls may on a machine at rest.
 */
export const FAST_ELECTION = electionOf(3 * CI_PATIENCE, 2 * CI_PATIENCE);

/** An election that is not lost while a busy API server takes seconds, with as many calls. */
export const STEADY_ELECTION = electionOf(15, 10);

/** In s. */
function electionOf(leaseDuration: number, renewDeadline: number): string[] {
  return [
    `--lease-duration=${leaseDuration}s`,
    `--renew-deadline=${renewDeadline}s`,
    "--retry-period=400ms",
  ];
}
