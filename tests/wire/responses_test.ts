/** Every transcript of what backends send: see `README.md` beside this file. */
import { testTranscripts } from "./replay_all.ts";

testTranscripts(new URL("./http1/responses/", import.meta.url));
