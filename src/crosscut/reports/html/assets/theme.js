// Theme: light, dark or the system's. Without storage, as for some pages opened from disk, it is not remembered.

// Resolves a custom property in the current theme, since canvases and saved files do not know light-dark().
export function resolved(element, property) {
  const probe = document.createElement("i");
  probe.style.cssText = `display:none;color:var(${property})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

const NEXT = { auto: "light", light: "dark", dark: "auto" };

function stored(act) {
  try {
    return act();
  } catch {
    return undefined; // no storage
  }
}

export function startTheme(button, changed) {
  let theme = stored(() => localStorage.getItem("crosscut-theme"));
  const apply = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    button.setAttribute("aria-label", `Theme: ${theme}. Switch to ${NEXT[theme]}`);
  };
  if (!(theme in NEXT)) theme = "auto";
  apply();
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    stored(() => localStorage.setItem("crosscut-theme", theme));
    apply();
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
