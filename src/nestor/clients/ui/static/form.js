// Fields that only mean something together with others are shown only then.

const boxes = (name) => [...document.querySelectorAll('input[type="checkbox"]')].filter((item) => item.name === `p.${name}`);
const isOn = (name) => boxes(name).some((item) => item.checked && !item.closest(".field").hidden);

function arrange() {
  for (const field of document.querySelectorAll("[data-if], [data-ifnot]")) {
    const wanted = JSON.parse(field.dataset.if ?? "[]"), unwanted = JSON.parse(field.dataset.ifnot ?? "[]");
    field.hidden = !wanted.every(isOn) || unwanted.some(isOn);
    // What is hidden is not sent: the application would be told that it is of no use.
    for (const item of field.querySelectorAll("input, select, textarea")) item.disabled = field.hidden;
  }
}

document.querySelector("form.form")?.addEventListener("change", arrange);
arrange();
