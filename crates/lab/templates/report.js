(function () {
  "use strict";
  if (navigator.clipboard) {
    document.querySelectorAll("pre.copy").forEach(function (block) {
      var button = document.createElement("button");
      var text = block.textContent;
      button.type = "button";
      button.textContent = "Copy";
      button.addEventListener("click", function () {
        navigator.clipboard.writeText(text).then(function () { button.textContent = "Copied"; });
      });
      block.appendChild(button);
    });
  }
  var place = document.getElementById("json-link");
  var data = document.getElementById("results");
  if (place && data && window.URL && window.Blob) {
    var link = document.createElement("a");
    link.textContent = "results.json";
    link.download = "results.json";
    link.href = URL.createObjectURL(new Blob([data.textContent], { type: "application/json" }));
    place.insertBefore(document.createTextNode(": "), place.firstChild);
    place.insertBefore(link, place.firstChild);
  }
})();
