// Joins, calls, is called, is refused, comes back: the official socket.io-client against a Server at process.argv[2].
"use strict";
const assert = require("node:assert/strict");
const { io } = require("socket.io-client");

const [url, transport, key] = process.argv.slice(2);
const options = { transports: transport.split(","), forceNew: true, reconnection: false };

function connect(auth) {
  const socket = io(url + "/smcp", { ...options, auth });
  return new Promise((resolve, reject) => {
    socket.once("connect", () => resolve(socket));
    socket.once("connect_error", reject);
  });
}

// A join is answered with two ack arguments.
function join(socket, role, name, office_id = "o") {
  return new Promise((resolve) =>
    socket.emit("server:join_office", { role, name, office_id }, (accepted, reason) => resolve([accepted, reason])),
  );
}

function hear(socket, event) {
  return new Promise((resolve) => socket.once(event, resolve));
}

async function main() {
  const refused = await connect({ token: "wrong" }).then(assert.fail, (error) => error);
  assert.equal(refused.data.code, 401);
  assert.ok(refused.message);

  const agent = await connect({ token: key });
  const computer = await connect({ api_key: key });
  assert.equal((await agent.emitWithAck("client:get_tools", {})).error.code, 4103);
  assert.deepEqual(await join(agent, "agent", "js-agent"), [true, null]);

  const entered = hear(agent, "notify:enter_office");
  assert.deepEqual(await join(computer, "computer", "js-pc"), [true, null]);
  assert.deepEqual(await entered, { office_id: "o", computer: "js-pc" });

  computer.on("client:tool_call", (data, ack) => ack({ content: [{ type: "text", text: data.params.text }] }));
  const call = { agent: "js-agent", req_id: "1", computer: "js-pc", tool_name: "echo", timeout: 5 };
  const result = await agent.emitWithAck("client:tool_call", { ...call, params: { text: "héllo 你好" } });
  assert.equal(result.content[0].text, "héllo 你好");
  const big = "x".repeat(2_000_000);
  const echoed = await agent.emitWithAck("client:tool_call", { ...call, params: { text: big } });
  assert.equal(echoed.content[0].text, big);

  const missing = await agent.emitWithAck("client:tool_call", { ...call, computer: "nobody", params: {} });
  assert.equal(missing.error.code, 404);
  assert.equal(missing.isError, true);
  const binary = await agent.emitWithAck("client:tool_call", { ...call, params: { raw: Buffer.from([1, 2]) } });
  assert.equal(binary.error.code, 400);

  const rival = await connect({ token: key });
  const [accepted, reason] = await join(rival, "agent", "rival");
  assert.equal(accepted, false);
  assert.match(reason, /4101/);

  const updated = hear(agent, "notify:update_tool_list");
  computer.emit("server:update_tool_list", { computer: "js-pc" });
  assert.deepEqual(await updated, { computer: "js-pc" });

  const steady = io(url + "/smcp", { ...options, reconnection: true, reconnectionDelay: 50, auth: { token: key } });
  await hear(steady, "connect");
  assert.deepEqual(await join(steady, "computer", "steady"), [true, null]);
  const gone = hear(agent, "notify:leave_office");
  const back = hear(steady, "connect");
  steady.io.engine.close(); // as if the connection broke
  await back;
  assert.deepEqual(await gone, { office_id: "o", computer: "steady" });
  assert.deepEqual(await join(steady, "computer", "steady"), [true, null]);
  steady.on("client:tool_call", (data, ack) => ack({ content: [{ type: "text", text: "back" }] }));
  const again = await agent.emitWithAck("client:tool_call", { ...call, computer: "steady", params: {} });
  assert.equal(again.content[0].text, "back");
  steady.disconnect();
  await hear(agent, "notify:leave_office");

  const left = hear(agent, "notify:leave_office");
  computer.disconnect();
  assert.deepEqual(await left, { office_id: "o", computer: "js-pc" });
  agent.disconnect();
  rival.disconnect();
  console.log("all well");
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
