// The dialog for the reader's key.
import { $ } from "./dom.js";
import { getKey, setKey } from "./key.js";

// startKeyDialog wires it; changed hears of another key. It returns what opens it.
export function startKeyDialog(changed) {
  const dialog = $("key-dialog"), input = $("key-input");
  const use = (key) => {
    setKey(key);
    dialog.close();
    changed();
  };
  const open = () => {
    input.value = getKey();
    $("key-forget").disabled = getKey() === "";
    dialog.showModal();
    input.select();
  };
  $("key-button").addEventListener("click", open);
  $("key-cancel").addEventListener("click", () => dialog.close());
  $("key-forget").addEventListener("click", () => use(""));
  $("key-form").addEventListener("submit", (e) => { e.preventDefault(); use(input.value.trim()); });
  return open;
}
