/** A thousand pipelined requests: too many for a transcript. */
import assert from "node:assert/strict";
import { readTranscript } from "./transcript.ts";
import { differences, Lane, WHOLE } from "./replay.ts";

const COUNT = 1000;

Deno.test("wire: a thousand pipelined requests get their responses in order", async () => {
  const { headings } = await readTranscript(transcript());
  const lane = new Lane("{}");
  try {
    for (const split of [WHOLE, { client: 4095, reply: 0 }, { client: 30_001, reply: 0 }]) {
      const [test] = headings[0].cases;
      assert.deepEqual(differences(test, await lane.replay(test, split)), []);
    }
  } finally {
    await lane.close();
  }
});

/** Each request asks for its number, each reply tells it; every tenth has no backend. */
function transcript(): string {
  let requests = "";
  let replies = "";
  let seen = "";
  let answers = "";
  for (let i = 0; i < COUNT; i++) {
    const host = i % 10 === 0 ? "missing.test" : "a.test";
    requests += `GET /${i} HTTP/1.1\\r\\nHost: ${host}\\r\\n\\r\\n\n`;
    const words = i === COUNT - 1 ? "stays" : "";
    if (i % 10 === 0) {
      answers += "```answer " + words + "\n<404>\n```\n";
      continue;
    }
    const length = `Content-Length: ${String(i).length}\\r\\n\\r\\n${i}`;
    replies += "```reply\nHTTP/1.1 200 OK\\r\\n" + length + "\n```\n";
    seen +=
      `\`\`\`backend\nGET /${i} HTTP/1.1\\r\\nHost: a.test\\r\\n<forwarded a.test>\\r\\n\n\`\`\`\n`;
    answers += "```answer " + words +
      "\nHTTP/1.1 200 OK\\r\\nServer: pingress\\r\\nDate: <date>\\r\\n" +
      length + "\n```\n";
  }
  return `# Many\n\n## Many\n\`\`\`client\n${requests}\`\`\`\n${replies}${seen}${answers}`;
}
