// A call as a line for a shell, or as a program.

import { address, path } from "../web/api.js";

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** The URL of the Server, without the path of the console. */
function server() {
  return new URL(address("/").replace(/\/api\/v1\/$/, "/"), location.href).href.replace(/\/$/, "");
}

/**
 * @param {string} office
 * @param {string} computer
 * @param {string} tool
 * @param {Record<string, unknown>} values
 */
export function asCurl(office, computer, tool, values) {
  const url = new URL(address(path`/offices/${office}/calls`), location.href).href;
  return [
    `curl -N ${quoted(url)} \\`,
    `  -H "Authorization: Bearer $A2C_API_KEY" -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify({ computer, tool, arguments: values }))}`,
  ].join("\n");
}

/**
 * @param {string} office
 * @param {string} computer
 * @param {string} tool
 * @param {Record<string, unknown>} values
 */
export function asCLI(office, computer, tool, values) {
  const where = `--url ${quoted(server())} --office ${quoted(office)}`;
  return `a2c agent ${where} call --params ${quoted(JSON.stringify(values))} -- ${quoted(computer)} ${quoted(tool)}`;
}

/**
 * @param {string} office
 * @param {string} computer
 * @param {string} tool
 * @param {Record<string, unknown>} values
 */
export function asPython(office, computer, tool, values) {
  const where = [server(), office, "my-agent"].map(literal).join(", ");
  return [
    "import asyncio",
    "import os",
    "from a2c_smcp.agent import AsyncSMCPAgentClient",
    "",
    "async def main():",
    `    async with AsyncSMCPAgentClient.in_office(${where}, api_key=os.environ.get("A2C_API_KEY")) as agent:`,
    `        result = await agent.call_tool(${literal(computer)}, ${literal(tool)}, ${literal(values)})`,
    "        print(result.text)",
    "",
    "asyncio.run(main())",
  ].join("\n");
}

/**
 * A JSON value in Python.
 * @param {unknown} value
 * @returns {string}
 */
function literal(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([key, each]) => `${literal(key)}: ${literal(each)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}
