/**
 * Rights that are taken away while the controller runs. In: which, and what makes it use them. Out:
 * whether it was refused exactly that, said so, and went on by itself when they were given back.
 *
 * Several are taken together where no call waits for another one. RBAC only adds up: what is refused
 * for lack of one right would be without the others' loss as well, since no right is given twice.
 */
import { ok } from "node:assert/strict";
import type { RecordedRequest } from "./api_gateway.ts";
import { eventually } from "./condition.ts";
import type { ControllerProcess } from "./controller_process.ts";
import { countOf } from "./installation.ts";
import { covers, type Grant, grantsOf, needsOf, refusalOf, textOf, without } from "./rbac.ts";
import type { RbacScene } from "./rbac_scene.ts";

/** Milliseconds that the controller may let pass before its next try. */
const LONGEST_PAUSE = 60_000;

export class Losses {
  readonly #scene: RbacScene;
  /** That were missed. */
  readonly #missed = new Set<string>();
  #taken: readonly Grant[] = [];

  constructor(scene: RbacScene) {
    this.#scene = scene;
  }

  /** Rights that nobody has missed yet. */
  get untried(): string[] {
    return grantsOf(this.#scene.rules).map(textOf).filter((text) => !this.#missed.has(text));
  }

  /** The one right with this verb on each resource; `name` chooses by the object. */
  pick(verb: string, resources: readonly string[], name?: string): Grant[] {
    return resources.map((resource) => {
      const [found, ...others] = grantsOf(this.#scene.rules).filter((grant) =>
        grant.verb === verb && grant.resource === resource &&
        (name === undefined || grant.names?.includes(name))
      );
      ok(found !== undefined && others.length === 0, `${verb} ${resource}`);
      return found;
    });
  }

  /** All rights with this verb. */
  all(verb: string): Grant[] {
    return grantsOf(this.#scene.rules).filter((grant) => grant.verb === verb);
  }

  /** Takes these away and gives back all others; resolves once the API server refuses these. */
  async take(grants: readonly Grant[]): Promise<void> {
    this.#taken = grants;
    const { rules } = this.#scene;
    await this.#scene.setRules(grants.length === 0 ? rules : without(rules, grants));
    // A busy API server goes by the rules before for a moment: nothing would be refused.
    for (const grant of grants) {
      await eventually(`end of ${textOf(grant)}`, async () => !await this.#scene.allows(grant));
    }
  }

  /** Waits until the controller was refused each of `grants` and has said so. */
  async missed(controller: ControllerProcess, grants: readonly Grant[], from = 0): Promise<void> {
    const { gateway } = this.#scene.way;
    for (const grant of grants) {
      const text = textOf(grant);
      const refusal = refusalOf(grant);
      await eventually(
        `refusal of ${text}`,
        () =>
          gateway.requests.slice(from).some((request) =>
            request.status === 403 && isFor(grant, request)
          ),
      );
      await controller.line(
        ({ level, reason, missing }) =>
          level === "error" && missing !== undefined && String(reason).includes(refusal),
      );
      this.#missed.add(text);
    }
    ok(await countOf(controller, 403) > 0);
  }

  /** Gives these back, and waits until each has been used. */
  async giveBack(grants: readonly Grant[], provoke?: () => Promise<void>): Promise<void> {
    const { gateway } = this.#scene.way;
    const texts = new Set(grants.map(textOf));
    // Before they are back: the next try may succeed as soon as the API server knows the new rules.
    const from = gateway.requests.length;
    await this.take(this.#taken.filter((grant) => !texts.has(textOf(grant))));
    await provoke?.();
    for (const grant of grants) {
      await eventually(
        `use of ${textOf(grant)} after its return`,
        () =>
          gateway.requests.slice(from).some((request) =>
            request.status !== null && request.status !== 403 && request.status < 500 &&
            needsOf(request).some((need) => covers(grant, need))
          ),
        LONGEST_PAUSE + 30_000,
      );
    }
  }

  /** All of the above. */
  async lose(
    controller: ControllerProcess,
    grants: readonly Grant[],
    provoke: () => Promise<unknown>,
    again?: () => Promise<void>,
  ): Promise<void> {
    await this.take(grants);
    const from = this.#scene.way.gateway.requests.length;
    await provoke();
    await this.missed(controller, grants, from);
    await this.giveBack(grants, again);
  }
}

/** A patch by server-side apply may lack `create` as well. */
function isFor(grant: Grant, request: RecordedRequest): boolean {
  return needsOf(request).some((need) =>
    covers(grant, need) ||
    (need.verb === "patch" && grant.verb === "create" && covers({ ...grant, verb: "patch" }, need))
  );
}
