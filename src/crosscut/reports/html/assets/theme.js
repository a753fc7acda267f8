// Light, dark, or as the system has it. A page opened from disk may have no storage: then it forgets.

// What a custom property is in the theme that is on: canvases and files know no light-dark().
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
