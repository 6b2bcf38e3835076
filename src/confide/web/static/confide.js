// Comforts only: every page works without this file.

for (const box of document.querySelectorAll("[data-filter]")) filter(box);
for (const code of document.querySelectorAll("pre[data-copy]")) copy(code);
for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
for (const told of document.querySelectorAll("[data-cells]")) count(told);
document.querySelector(".notice.error")?.focus();

/** Narrow a list as one types. `data-filter` names the list; its items have `data-find`, its groups `data-group`. */
function filter(box) {
  const list = document.getElementById(box.dataset.filter);
  if (!list) return;
  const items = [...list.querySelectorAll("[data-find]")];
  const groups = [...list.querySelectorAll("[data-group]")];
  const said = document.createElement("p");
  said.className = "hint";
  said.setAttribute("role", "status");
  list.before(said);
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const texts = items.map((item) => plain(item.dataset.find || item.textContent));
  box.addEventListener("input", () => {
    const words = plain(box.value).split(/\s+/).filter(Boolean);
    items.forEach((item, place) => (item.hidden = !words.every((word) => texts[place].includes(word))));
    for (const group of groups) group.hidden = !group.querySelector("[data-find]:not([hidden])");
    const left = items.filter((item) => !item.hidden).length;
    said.textContent = words.length ? `${left} of ${items.length} shown` : "";
  });
}

/** Say how many cells a table has while its variables and their levels of detail are chosen. */
function count(told) {
  const form = told.closest("form");
  form.addEventListener("change", () => {
    const factors = [...form.querySelectorAll("[data-factor]")].map((field) => field.selectedOptions?.[0] ?? field);
    const sizes = factors.map((factor) => Number(factor.dataset.size)).filter(Boolean);
    const cells = sizes.length ? sizes.reduce((product, size) => product * size, 1) : 0;
    const product = sizes.length > 1 ? `${sizes.join(" × ")} = ` : "";
    told.querySelector("output").textContent = product + cells.toLocaleString("en");
    told.classList.toggle("error-text", cells > Number(told.dataset.cells));
  });
}

/** Put a button beside code that copies it. */
function copy(code) {
  if (!navigator.clipboard) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  const around = document.createElement("div");
  around.className = "copying";
  code.replaceWith(around);
  around.append(code, button);
}
