/**
 * An application without a pod for a while, under load. In: a scene whose proxies hold requests or do
 * not. Out: what clients got meanwhile: 503 with a reason at once, or an answer after the wait.
 */
import { eventually } from "../../cluster/support/condition.ts";
import { ask } from "./client.ts";
import { Finding, inWords } from "./finding.ts";
import { type Form, linesOf, mixedStreams, noteLoad, type Scene } from "./scene.ts";

const RATE = 50;

/** For which proxies hold a request, in s: longer than any time without a pod here. */
export const HOLD = 60;

/** For how long the application goes on after SIGTERM, in s: until proxies know that it ends. */
const LINGER = 5;

/** A 503 that takes longer than this was held, in ms. */
const AT_ONCE = 2_000;

export async function scaleToZero(
  scene: Scene,
  form: Form,
  holds: boolean,
): Promise<Finding> {
  const times = form === "long" ? 10 : 1;
  const finding = new Finding(`scale 1 → 0 → 1, ${holds ? "with" : "without"} hold`);
  await scene.within("scale", async (namespace) => {
    const host = "scale.test";
    const application = await scene.application({ namespace, replicas: 1, host, linger: LINGER });
    const where = { address: scene.cluster.nodeAddress, port: 80 };
    const timeout = holds ? HOLD * 1_000 : undefined;
    await using load = await scene.load({ streams: mixedStreams(host, RATE, { timeout }) });
    await load.lasts(1_000);
    let heads = "";
    for (let index = 0; index < times; index++) {
      await application.scale(0);
      await application.ready(0);
      if (!holds) {
        const answer = await eventually("503", async () => {
          const answer = await ask(where, { host, path: "/" });
          return answer.status === 503 ? answer : null;
        });
        heads = `${answer.head}${answer.body}`;
      }
      await load.lasts(2_000);
      await application.scale(1);
      await application.ready(1);
      await scene.served(host);
      await load.lasts(1_000);
    }
    const report = await load.stop();
    noteLoad(finding, report);
    finding.note("times without a pod", times);
    const { failures } = load;
    if (holds) {
      const longest = Math.max(...report.streams.map(({ max }) => max));
      finding.note("longest answer", inWords(longest));
      finding.count("failed", failures.length, 0, linesOf(failures));
      return;
    }
    const refused = failures.filter(({ status }) => status === 503);
    const others = failures.filter(({ status }) => status !== 503);
    const slow = refused.filter(({ after }) => after > AT_ONCE);
    finding.note("requests answered with 503", refused.length);
    finding.holds(
      "503 has a reason",
      reasonOf(heads),
      "a Retry-After and a body",
      isReasoned(heads),
    );
    finding.count("503 that kept clients waiting", slow.length, 0, linesOf(slow));
    finding.count("otherwise failed", others.length, 0, linesOf(others));
  });
  return finding;
}

function isReasoned(answer: string): boolean {
  return /\r\nretry-after: *\d+\r\n/i.test(answer) && /\r\n\r\n\S/.test(answer);
}

function reasonOf(answer: string): string {
  const [head, body = ""] = answer.split("\r\n\r\n");
  const after = /\r\nretry-after: *(\d+)/i.exec(head)?.[1];
  return `Retry-After ${after ?? "missing"}, ${JSON.stringify(body.trim().slice(0, 60))}`;
}
