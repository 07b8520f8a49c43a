// Reads output as it comes, and keeps the end in sight for whoever wants that.

const KEEP = 20000; // lines
const box = document.getElementById("log"), state = document.getElementById("logstate"), follow = document.getElementById("follow");

function clean(text) {
  return text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, "").replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, "");
}

async function read() {
  const answer = await fetch(box.dataset.source, { headers: { Accept: "text/plain" } });
  if (!answer.ok) {
    state.textContent = (await answer.text()).trim();
    return;
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let count = 0;
  for (;;) {
    state.textContent = "Live";
    const { value, done } = await reader.read();
    if (done) break;
    count += value.split("\n").length;
    box.append(clean(value));
    if (count > KEEP) {
      box.textContent = box.textContent.split("\n").slice(-KEEP / 2).join("\n");
      count = KEEP / 2;
    }
    if (follow.checked) box.scrollTop = box.scrollHeight;
  }
  state.textContent = box.textContent ? "That is all." : "Nothing was said.";
}

box.addEventListener("scroll", () => {
  if (box.scrollTop + box.clientHeight < box.scrollHeight - 40) follow.checked = false;
});
follow.addEventListener("change", () => follow.checked && (box.scrollTop = box.scrollHeight));
read().catch(() => (state.textContent = "The connection is lost."));
