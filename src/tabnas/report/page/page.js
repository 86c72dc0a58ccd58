"use strict";
// Copy buttons; the page is complete without them.
for (const button of document.querySelectorAll("button.copy")) {
  const code = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener("click", async () => {
    const status = document.getElementById("status");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      status.textContent = "Copied to the clipboard.";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected";
      status.textContent = "The text is selected; copy it with the keyboard.";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
