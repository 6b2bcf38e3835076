// Draws the interactive charts of a page. /charts/vega.*.js is this, together with Vega-Lite as the server's vl-convert carries it.
const colours = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

// What is under the pointer stands in words below the chart: nothing is laid over the page.
const words = (value) =>
  Object.entries(value)
    .map(([name, shown]) => `${name}: ${shown}`)
    .join(", ");

const draw = async (place) => {
  const told = place.parentElement.querySelector("[data-chart-told]");
  const hint = told.textContent;
  place.hidden = false;
  const size = place.clientWidth < 480 ? "-narrow" : "";
  const answer = await fetch(`${place.dataset.chart}/${colours}${size}.json`);
  if (!answer.ok) {
    place.hidden = true;
    return;
  }
  await vegaEmbed(place, await answer.json(), {
    actions: false,
    ast: true,
    defaultStyle: false,
    renderer: "canvas",
    tooltip: (handler, event, item, value) => {
      told.textContent = value === null || value === undefined || value === "" ? hint : words(value);
    },
  });
  place.parentElement.querySelector("picture").hidden = true;
};

for (const place of document.querySelectorAll("[data-chart]")) draw(place);
