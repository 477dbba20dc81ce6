// One JSON request to a server of the deployment's choice: the resident's push URL, its model, or a source.

const DEADLINE = Symbol("deadline");

/**
 * Posts text and resolves to `[status, text]`, or to a string that says what failed; "deadline" where the time ran out.
 * A redirect is not followed: what is sent is for that server alone. With a service binding, the Worker behind it is
 * asked, and no network.
 */
export async function post(url, headerLines, body, maxBytes, deadlineMs, service) {
  let timer;
  const deadline = new Promise((resolve) => {
    timer = setTimeout(resolve, deadlineMs, DEADLINE);
  });
  try {
    const headers = headerLines
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]);
    const request = new Request(url, { method: "POST", headers, body, redirect: "manual" });
    const response = await Promise.race([service ? service.fetch(request) : fetch(request), deadline]);
    if (response === DEADLINE) return "deadline";
    return await answer(response, maxBytes, deadline);
  } catch (error) {
    return String(error?.message ?? error);
  } finally {
    clearTimeout(timer);
  }
}

async function answer(response, maxBytes, deadline) {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  const reader = response.body?.getReader();
  while (reader) {
    const step = await Promise.race([reader.read(), deadline]);
    if (step === DEADLINE) {
      reader.cancel().catch(() => {});
      return "deadline";
    }
    if (step.done) break;
    length += step.value.length;
    if (length > maxBytes) {
      reader.cancel().catch(() => {});
      return "the answer is too large";
    }
    text += decoder.decode(step.value, { stream: true });
  }
  return [response.status, text + decoder.decode()];
}

/** The Workers AI binding; undefined where it is absent or something else. */
export function ai(env, name) {
  const value = env[name];
  return typeof value?.run === "function" ? value : undefined;
}

/** Runs a model and resolves to `[answer]` as JSON, or to a string that says what failed. */
export async function runAi(binding, model, input, deadlineMs) {
  let timer;
  const deadline = new Promise((resolve) => {
    timer = setTimeout(resolve, deadlineMs, DEADLINE);
  });
  try {
    const answer = await Promise.race([binding.run(model, JSON.parse(input)), deadline]);
    return answer === DEADLINE ? "deadline" : [JSON.stringify(answer)];
  } catch (error) {
    return String(error?.message ?? error);
  } finally {
    clearTimeout(timer);
  }
}
