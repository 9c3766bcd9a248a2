// The reader's key: in this tab's session storage, nowhere else.
const name = "paddock-key";
let inMemory = ""; // where storage is off

export function getKey() {
  try { return sessionStorage.getItem(name) ?? ""; } catch { return inMemory; }
}

export function setKey(key) {
  inMemory = key;
  try {
    if (key) sessionStorage.setItem(name, key);
    else sessionStorage.removeItem(name);
  } catch { /* this page keeps it while it is open */ }
}
